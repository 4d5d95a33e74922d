"""Pause, disable, enable and archive from the admin: each asks for a reason, each runs the verb of its name."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from console.confirmation import Question, chosen_rows, confirmed_note
from endpoints import availability
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint, State, StateChange

Action = Callable[[Any, HttpRequest, QuerySet[Endpoint]], HttpResponse | None]


class _Verb(Protocol):
    def __call__(self, endpoint: Endpoint, *, actor: str, reason: str) -> StateChange: ...


LEGAL_FROM: Final = {
    "pause": (State.ACTIVE,),
    "enable": (State.PAUSED, State.DISABLED),
    "disable": (State.ACTIVE, State.PAUSED),
    "archive": (State.ACTIVE, State.PAUSED, State.DISABLED),
}
"""The states in which an endpoint's page offers each action; the verbs themselves decide again."""


def _action(verb: _Verb, label: str, question: Question, done: str) -> Action:
    @admin.action(description=label, permissions=["change_state"])
    def run(
        model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[Endpoint]
    ) -> HttpResponse | None:
        rows = chosen_rows(model_admin, request, listed)
        reason = confirmed_note(model_admin, request, rows, question)
        if isinstance(reason, HttpResponse):
            return reason
        moved = 0
        for endpoint in rows:
            try:
                verb(endpoint, actor=request.user.get_username(), reason=reason)
            except TransitionRefused as refusal:
                messages.warning(request, str(refusal))
            else:
                moved += 1
                model_admin.log_change(request, endpoint, f"{label.split()[0]}: {reason}")
        if moved:
            messages.success(request, f"{moved} endpoint{'s' if moved != 1 else ''} {done}.")
        return None

    run.__name__ = question.action
    return run


def _question(action: str, title: str, consequence: str, **more: Any) -> Question:
    button = f"{action.capitalize()} them"
    return Question(action, title, consequence, button, note_label="Reason", note_required=True, **more)


pause = _action(
    availability.pause,
    "Pause",
    _question(
        "pause",
        "Pause endpoints",
        "Nothing is sent until somebody enables them again. New events are still recorded for them and wait; what "
        "passes its deadline meanwhile becomes a dead letter.",
    ),
    "paused",
)
disable = _action(
    availability.disable,
    "Disable",
    _question(
        "disable",
        "Disable endpoints",
        "For endpoints that are broken or gone. Nothing is sent until somebody enables them again; new events are "
        "still recorded for them and wait, and what passes its deadline becomes a dead letter.",
    ),
    "disabled",
)
enable = _action(
    availability.enable,
    "Enable",
    _question(
        "enable",
        "Enable endpoints",
        "What they held goes out again, slowly at first. What has expired meanwhile stays among the dead letters.",
    ),
    "enabled",
)
archive = _action(
    availability.archive,
    "Archive",
    _question(
        "archive",
        "Archive endpoints",
        "For good: they get no new events, what still waits for them becomes dead letters, and nothing brings them "
        "back.",
        dangerous=True,
    ),
    "archived",
)
