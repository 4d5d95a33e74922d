"""Redrive and discard from the admin: what would happen is said first, what happened afterwards."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse

from console.confirmation import Question, chosen_rows, confirmed_note
from console.history import log, selection_in_words
from console.tables import COUNT_CAP, capped_count
from deliveries.admin import operations
from deliveries.models import DeadLetter
from deliveries.order import order_notes
from deliveries.redrive import Preview, discard, preview_discard, preview_redrive, redrive
from endpoints.models import Endpoint

SHOWN_ENDPOINTS: Final = 10

REDRIVE: Final = Question(
    "redrive_selected",
    "Redrive dead letters",
    "Their deliveries go back to work now, with the same id and the same bytes, a fresh number of attempts and a fresh "
    "deadline.",
    "Redrive them",
)
DISCARD: Final = Question(
    "discard_selected",
    "Discard dead letters",
    "They are let go for good and leave the open list. Nothing is sent, and nothing brings them back.",
    "Discard them",
    note_label="Why may they be let go?",
    note_required=True,
    dangerous=True,
)


@admin.action(description="Redrive", permissions=["redrive"])
def redrive_selected(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[DeadLetter]
) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    count = capped_count(rows, COUNT_CAP)
    question = replace(
        REDRIVE,
        facts=[*_endpoints(rows), *operations.pace_in_words(count)],
        warnings=[*_warnings(preview_redrive(rows[:COUNT_CAP])), *order_notes(rows[:COUNT_CAP])],
    )
    note = confirmed_note(model_admin, request, rows, question)
    if isinstance(note, HttpResponse):
        return note
    words = selection_in_words(request, count, "dead letters")
    operation = operations.run(
        request,
        lambda: redrive(
            rows,
            actor=request.user.get_username(),
            note=note,
            selection=words,
            rate_per_second=operations.rate_for(count),
        ),
        one="dead letter redriven",
        many="dead letters redriven",
    )
    if operation:
        log(request, _moved(operation.pk), f"Redriven. {note}".strip())
    return None


@admin.action(description="Discard", permissions=["discard"])
def discard_selected(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[DeadLetter]
) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    question = replace(DISCARD, warnings=_warnings(preview_discard(rows[:COUNT_CAP])))
    note = confirmed_note(model_admin, request, rows, question)
    if isinstance(note, HttpResponse):
        return note
    words = selection_in_words(request, rows.count(), "dead letters")
    operation = operations.run(
        request,
        lambda: discard(rows, actor=request.user.get_username(), note=note, selection=words),
        one="dead letter discarded",
        many="dead letters discarded",
    )
    if operation:
        log(request, _moved(operation.pk), f"Discarded. {note}")
    return None


def _moved(operation_id: int) -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(operation=operation_id).defer("body", "headers", "attempts")


def _endpoints(rows: QuerySet[DeadLetter]) -> Sequence[str]:
    """Which endpoints will hear of it, the most addressed first."""
    chosen = rows.order_by()[:COUNT_CAP].values("pk")
    counted = DeadLetter.objects.filter(pk__in=chosen).values("endpoint").annotate(letters=Count("pk"))
    numbers = dict(counted.order_by("-letters", "endpoint").values_list("endpoint", "letters")[: SHOWN_ENDPOINTS + 1])
    endpoints = Endpoint.objects.defer("headers", "ca_certificate").in_bulk(list(numbers))
    lines = [
        f"{letters} to endpoint {endpoints[pk]}{_state(endpoints[pk])}"
        for pk, letters in list(numbers.items())[:SHOWN_ENDPOINTS]
    ]
    return [*lines, "and to more endpoints"] if len(numbers) > SHOWN_ENDPOINTS else lines


def _state(endpoint: Endpoint) -> str:
    return "" if endpoint.state == "active" else f", which is {endpoint.state}"


def _warnings(preview: Preview) -> Sequence[str]:
    lines = []
    if preview.held:
        lines.append(f"{preview.held} will wait until their paused or disabled endpoint is enabled.")
    if preview.refusals:
        why = ", ".join(f"{count} {reason}" for reason, count in preview.refusals.most_common())
        lines.append(f"Left alone: {why}.")
    return lines
