"""Received events: what arrived, how often, and what became of it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.filters import ChoiceFilter
from console.page import PageAdmin, Table, Text
from console.presentation import EMPTY, badge, link, link_to, moment
from console.tables import LogAdmin, row_number
from inbox.admin.bodies import request_sections
from inbox.admin.filters import SourceFilter
from inbox.models import ReceivedEvent
from inbox.statuses import SENTENCES, Status


class StatusFilter(ChoiceFilter):
    title = parameter_name = "status"
    values = tuple(Status)


class ReceivedEventAdmin(PageAdmin, LogAdmin):
    list_display = ("row", "received", "source", "type_shown", "status_shown", "tries", "again", "reason")
    list_filter = (StatusFilter, SourceFilter)
    list_select_related = ("source",)
    search_fields = ("pk",)
    search_help_text = "The number of a received event, or a whole event id of the provider."
    fields = (
        "explained",
        "reason",
        "source_link",
        "event_id",
        "type_shown",
        "tries",
        "handler",
        "again",
        "ordering_key",
        "next_attempt",
        "lease",
        "occurred",
        "received",
        "finished",
        "fingerprint",
        "content_type",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[ReceivedEvent]:
        return super().get_queryset(request).select_related("source").defer("body", "payload", "headers", "failures")

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(event_id=term) if number is None else Q(pk=number) | Q(event_id=term)

    def sections(self, request: HttpRequest, row: ReceivedEvent) -> Sequence[Table | Text]:
        return (failures(row), _dead_letters(row), *request_sections(request, row))

    @admin.display(description="#")
    def row(self, event: ReceivedEvent) -> int:
        return int(event.pk)

    @admin.display(description="received")
    def received(self, event: ReceivedEvent) -> SafeString | str:
        return moment(event.received_at)

    @admin.display(description="happened")
    def occurred(self, event: ReceivedEvent) -> SafeString | str:
        return moment(event.occurred_at)

    @admin.display(description="source")
    def source_link(self, event: ReceivedEvent) -> SafeString | str:
        return link_to(event.source)

    @admin.display(description="type")
    def type_shown(self, event: ReceivedEvent) -> str:
        return event.type or EMPTY

    @admin.display(description="status")
    def status_shown(self, event: ReceivedEvent) -> SafeString | str:
        return badge(event.status)

    @admin.display(description="status")
    def explained(self, event: ReceivedEvent) -> SafeString | str:
        return format_html("{} {}", badge(event.status), SENTENCES[Status(event.status)])

    @admin.display(description="attempts")
    def tries(self, event: ReceivedEvent) -> str:
        earlier = event.budget_offset
        return f"{event.attempt_count} ({earlier} before the last redrive)" if earlier else f"{event.attempt_count}"

    @admin.display(description="repeats")
    def again(self, event: ReceivedEvent) -> str:
        other = f", {event.conflicts} with another body" if event.conflicts else ""
        return f"{event.duplicates}{other}"

    @admin.display(description="next attempt")
    def next_attempt(self, event: ReceivedEvent) -> SafeString | str:
        return moment(event.next_attempt_at)

    @admin.display(description="lease")
    def lease(self, event: ReceivedEvent) -> SafeString | str:
        if event.lease_token is None:
            return EMPTY
        return format_html("{}, until {}", event.lease_token, moment(event.lease_expires_at))

    @admin.display(description="finished")
    def finished(self, event: ReceivedEvent) -> SafeString | str:
        return moment(event.finished_at)


def failures(event: ReceivedEvent) -> Table:
    """The failed attempts of an event, the last twenty."""
    return Table(
        "Failed attempts",
        ("Attempt", "Began", "Class", "Took", "Handler", "Reason"),
        [
            (each["attempt"], each["at"], each["class"], f"{each['duration_ms']:,} ms", each["handler"], each["reason"])
            for each in event.failures
        ],
    )


def _dead_letters(event: ReceivedEvent) -> Table:
    rows: list[tuple[Any, ...]] = [
        (link("inbox", "deadletter", letter.pk, letter), moment(letter.created_at), badge(letter.resolution))
        for letter in event.dead_letters.all()[:20]
    ]
    return Table("Dead letters", ("Dead letter", "Written", "Resolution"), rows)
