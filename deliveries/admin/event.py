"""Events in the admin: publish one by hand, look at every one, replay them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from console.confirmation import Question, chosen_rows, confirmed_note
from console.filters import TypedFilter
from console.history import log, selection_in_words
from console.json_text import indented
from console.page import PageAdmin, Table, Text
from console.presentation import badge, link, link_to, list_link, may, moment
from console.tables import COUNT_CAP, BigTableAdmin, capped_count
from deliveries.admin import operations
from deliveries.admin.event_form import EventForm
from deliveries.models import Event
from deliveries.replay import replay_events

SHOWN_DELIVERIES: Final = 50

REPLAY: Final = Question(
    "replay",
    "Replay events",
    "Each goes out again, with the same id and the same bytes, to every endpoint that subscribes to it now; one that "
    "missed it gets it for the first time. Receivers tell a repeat by its id. What is on its way or dead is left "
    "alone: redrive dead letters instead.",
    "Replay them",
)


class TypeFilter(TypedFilter):
    title = parameter_name = "type"


class TenantFilter(TypedFilter):
    title = parameter_name = "tenant"


@admin.action(description="Replay", permissions=["replay"])
def replay(model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[Event]) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    count = capped_count(rows, COUNT_CAP)
    question = replace(REPLAY, facts=operations.pace_in_words(count))
    note = confirmed_note(model_admin, request, rows, question)
    if isinstance(note, HttpResponse):
        return note
    words = selection_in_words(request, count, "events")
    operation = operations.run(
        request,
        lambda: replay_events(
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
        log(request, [operation], "Replayed events.")
    return None


class EventAdmin(PageAdmin, BigTableAdmin):
    form = EventForm
    list_display = ("event_id", "type", "tenant_shown", "occurred", "sequence")
    list_filter = (TypeFilter, TenantFilter)
    search_fields = ("pk",)
    search_help_text = "An event id, or its beginning."
    actions = (replay,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return super().get_queryset(request).defer("body")

    def get_fields(self, request: HttpRequest, obj: Event | None = None) -> tuple[Any, ...]:
        if obj is None:
            return ("type", "tenant", "data")
        return ("event_id", "type", "tenant_shown", "occurred", "recorded", "sequence")

    def get_readonly_fields(self, request: HttpRequest, obj: Event | None = None) -> tuple[str, ...]:
        return () if obj is None else ("event_id", "type", "tenant_shown", "occurred", "recorded", "sequence")

    def has_change_permission(self, request: HttpRequest, obj: Event | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Event | None = None) -> bool:
        return False

    def has_replay_permission(self, request: HttpRequest) -> bool:
        """Named by the replay action."""
        return may(request, "deliveries.replay_event")

    def search(self, request: HttpRequest, term: str) -> Q:
        return Q(pk__startswith=term)

    def sections(self, request: HttpRequest, row: Event) -> Sequence[Table | Text]:
        size = len(row.body.encode())
        return (
            _deliveries(row),
            Text("Body, indented for reading", indented(row.body)),
            Text(f"Body, the exact {size:,} bytes that are signed and sent", row.body, folded=True),
        )

    @admin.display(description="id")
    def event_id(self, event: Event) -> str:
        return str(event.pk)

    @admin.display(description="tenant")
    def tenant_shown(self, event: Event) -> str:
        return event.tenant

    @admin.display(description="occurred")
    def occurred(self, event: Event) -> SafeString | str:
        return moment(event.occurred_at)

    @admin.display(description="recorded")
    def recorded(self, event: Event) -> SafeString | str:
        return moment(event.created_at)


def _deliveries(event: Event) -> Table:
    rows = event.deliveries.select_related("endpoint").defer("endpoint__headers").order_by("endpoint_id")
    return Table(
        "Deliveries",
        ("Delivery", "Endpoint", "Status", "Attempts", "Last outcome", "Next attempt", "Finished"),
        [_delivery(row) for row in rows[:SHOWN_DELIVERIES]],
        empty="None: no endpoint subscribed to this type and tenant when it was recorded.",
        footnote=list_link("deliveries", "delivery", f"event={event.pk}", "All deliveries of this event"),
    )


def _delivery(row: Any) -> tuple[SafeString | str | int, ...]:
    return (
        link("deliveries", "delivery", row.pk, f"#{row.pk}"),
        link_to(row.endpoint),
        badge(row.status),
        row.attempt_count,
        badge(row.last_outcome),
        moment(row.next_attempt_at),
        moment(row.finished_at),
    )
