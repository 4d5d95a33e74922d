"""Redrive and discard from the admin: what would happen is said first, what happened afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html

from console.confirmation import Question, chosen_rows, confirmed_note
from console.history import log, selection_in_words
from console.presentation import link
from console.tables import COUNT_CAP, capped_count
from inbox.conf import conf
from inbox.errors import InboxError
from inbox.models import DeadLetter, Operation
from inbox.redrive import discard, preview, redrive

REDRIVE: Final = Question(
    "redrive_selected",
    "Redrive dead letters",
    "Their events go back to their handlers now, with the same bytes and a fresh number of attempts. Their age is not "
    "judged again.",
    "Redrive them",
)
DISCARD: Final = Question(
    "discard_selected",
    "Discard dead letters",
    "They are let go for good and leave the open list. No handler gets them, and nothing brings them back.",
    "Discard them",
    note_label="Why may they be let go?",
    note_required=True,
    dangerous=True,
)


AT_ONCE: Final = 20
"""More than so many go at a pace: what they were given up for may not be quite mended."""


@admin.action(description="Redrive", permissions=["redrive"])
def redrive_selected(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[DeadLetter]
) -> HttpResponse | None:
    return _act(model_admin, request, listed, REDRIVE, _redrive, "redriven")


@admin.action(description="Discard", permissions=["discard"])
def discard_selected(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[DeadLetter]
) -> HttpResponse | None:
    return _act(model_admin, request, listed, DISCARD, discard, "discarded")


def _redrive(rows: QuerySet[DeadLetter], **words: str) -> Operation:
    """A few at once; many at the pace that the settings name."""
    is_many = rows[: AT_ONCE + 1].count() > AT_ONCE
    return redrive(rows, rate_per_second=conf().admin_rate_per_second if is_many else None, **words)


def _act(
    model_admin: "admin.ModelAdmin[Any]",
    request: HttpRequest,
    listed: QuerySet[DeadLetter],
    question: Question,
    verb: Callable[..., Operation],
    done: str,
) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    question = replace(question, warnings=_warnings(rows))
    note = confirmed_note(model_admin, request, rows, question)
    if isinstance(note, HttpResponse):
        return note
    words = selection_in_words(request, capped_count(rows, COUNT_CAP), "dead letters")
    try:
        operation = verb(rows, actor=request.user.get_username(), note=note, selection=words)
    except InboxError as refusal:
        messages.error(request, str(refusal))
        return None
    letters = "dead letter" if operation.moved == 1 else "dead letters"
    details = link("inbox", "operation", operation.pk, "details")
    left = f"{operation.refused} left alone." if operation.refused else ""
    text = format_html("{} {} {} ({}). {}", operation.moved, letters, done, details, left)
    (messages.warning if operation.refused or not operation.moved else messages.success)(request, text)
    log(request, DeadLetter.objects.filter(operation=operation), f"{done.capitalize()}. {note}".strip())
    return None


def _warnings(rows: QuerySet[DeadLetter]) -> Sequence[str]:
    _, refusals = preview(rows[:COUNT_CAP])
    why = ", ".join(f"{count} {reason}" for reason, count in refusals.most_common())
    return [f"Left alone: {why}."] if why else []
