"""Deliveries in the admin: where each stands and why, and the way to send one again."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.confirmation import Question, chosen_rows, confirmed_note
from console.history import log, selection_in_words
from console.page import Button, PageAdmin, Table, Text
from console.presentation import EMPTY, badge, link, link_to, may, moment
from console.tables import COUNT_CAP, LogAdmin, capped_count, row_number
from deliveries.admin import operations
from deliveries.admin.attempts import attempts_of
from deliveries.admin.filters import EndpointFilter, EventFilter, StatusFilter
from deliveries.models import Delivery
from deliveries.replay import replay as replay_deliveries
from deliveries.statuses import SENTENCES, Status
from endpoints.admin.presentation import endpoint_with_state
from endpoints.models import State

REPLAY: Final = Question(
    "replay",
    "Replay deliveries",
    "Each that was delivered goes out once more, with the same id and the same bytes; its receiver tells the repeat by "
    "the id. What is on its way or dead is left alone: redrive its dead letter instead.",
    "Replay them",
)


@admin.action(description="Replay", permissions=["replay"])
def replay(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[Delivery]
) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    count = capped_count(rows, COUNT_CAP)
    question = replace(REPLAY, facts=operations.pace_in_words(count))
    note = confirmed_note(model_admin, request, rows, question)
    if isinstance(note, HttpResponse):
        return note
    words = selection_in_words(request, count, "deliveries")
    operation = operations.run(
        request,
        lambda: replay_deliveries(
            rows,
            actor=request.user.get_username(),
            note=note,
            selection=words,
            rate_per_second=operations.rate_for(count),
        ),
        one="delivery goes out again",
        many="deliveries go out again",
    )
    if operation:
        log(request, [operation], "Replayed deliveries.")
    return None


class DeliveryAdmin(PageAdmin, LogAdmin):
    list_display = (
        "row",
        "event_type",
        "endpoint_link",
        "status_shown",
        "tries",
        "outcome",
        "moves",
    )
    list_filter = (StatusFilter, EndpointFilter, EventFilter)
    list_select_related = ("event", "endpoint")
    search_fields = ("pk",)
    search_help_text = "The number of a delivery, or a whole event id."
    actions = (replay,)
    fields = (
        "explained",
        "event_link",
        "endpoint_link",
        "tries",
        "outcome",
        "next_attempt",
        "lease",
        "finished",
        "deadline",
        "created",
    )
    readonly_fields = fields

    @property
    def media(self) -> Any:
        return super().media + EndpointFilter.media

    def get_queryset(self, request: HttpRequest) -> QuerySet[Delivery]:
        return super().get_queryset(request).defer("event__body", "endpoint__headers", "endpoint__ca_certificate")

    def has_replay_permission(self, request: HttpRequest) -> bool:
        """Named by the replay action."""
        return may(request, "deliveries.replay_delivery")

    def buttons(self, request: HttpRequest, row: Delivery) -> Sequence[Button]:
        return super().buttons(request, row) if row.status == Status.DELIVERED else ()

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(event=term) if number is None else Q(pk=number)

    def sections(self, request: HttpRequest, row: Delivery) -> Sequence[Table | Text]:
        attempts = attempts_of(row, with_answers=may(request, "deliveries.view_answer"))
        return (attempts, _dead_letters(row))

    @admin.display(description="#")
    def row(self, delivery: Delivery) -> int:
        return int(delivery.pk)

    @admin.display(description="event")
    def event_type(self, delivery: Delivery) -> SafeString:
        return link("deliveries", "event", delivery.event_id, delivery.event.type)

    @admin.display(description="event")
    def event_link(self, delivery: Delivery) -> SafeString | str:
        return link_to(delivery.event)

    @admin.display(description="endpoint")
    def endpoint_link(self, delivery: Delivery) -> SafeString | str:
        return endpoint_with_state(delivery.endpoint)

    @admin.display(description="status")
    def status_shown(self, delivery: Delivery) -> SafeString | str:
        return badge(delivery.status)

    @admin.display(description="status")
    def explained(self, delivery: Delivery) -> SafeString | str:
        return format_html("{} {}", badge(delivery.status), SENTENCES[Status(delivery.status)])

    @admin.display(description="attempts")
    def tries(self, delivery: Delivery) -> str:
        earlier = delivery.budget_offset
        return (
            f"{delivery.attempt_count} ({earlier} before the last redrive)" if earlier else f"{delivery.attempt_count}"
        )

    @admin.display(description="last outcome")
    def outcome(self, delivery: Delivery) -> SafeString | str:
        return badge(delivery.last_outcome)

    @admin.display(description="next attempt, or end")
    def moves(self, delivery: Delivery) -> SafeString | str:
        return moment(delivery.next_attempt_at or delivery.finished_at)

    @admin.display(description="next attempt")
    def next_attempt(self, delivery: Delivery) -> SafeString | str:
        held = "" if delivery.endpoint.state == State.ACTIVE else f"(held: the endpoint is {delivery.endpoint.state})"
        return format_html("{} {}", moment(delivery.next_attempt_at), held) if delivery.next_attempt_at else EMPTY

    @admin.display(description="no attempt after")
    def deadline(self, delivery: Delivery) -> SafeString | str:
        return moment(delivery.deadline_at)

    @admin.display(description="lease")
    def lease(self, delivery: Delivery) -> SafeString | str:
        if delivery.lease_token is None:
            return EMPTY
        return format_html("{}, until {}", delivery.lease_token, moment(delivery.lease_expires_at))

    @admin.display(description="finished")
    def finished(self, delivery: Delivery) -> SafeString | str:
        return moment(delivery.finished_at)

    @admin.display(description="recorded")
    def created(self, delivery: Delivery) -> SafeString | str:
        return moment(delivery.created_at)


def _dead_letters(delivery: Delivery) -> Table:
    letters = delivery.dead_letters.defer("body", "headers", "attempts")[:20]
    return Table(
        "Dead letters",
        ("Dead letter", "Written", "Resolution"),
        [
            (link("deliveries", "deadletter", letter.pk, letter), moment(letter.created_at), badge(letter.resolution))
            for letter in letters
        ],
    )
