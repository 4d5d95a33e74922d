"""Dead letters in the admin: the whole request that did not arrive, why, and the two ways out."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.filters import EVERY, AgeFilter, ChoiceFilter, DefaultChoiceFilter
from console.json_text import indented
from console.page import Button, PageAdmin, Table, Text
from console.presentation import badge, link, link_to, may, moment
from console.tables import LogAdmin, row_number
from deliveries.admin.attempts import attempts_copied
from deliveries.admin.dead_letter_actions import discard_selected, redrive_selected
from deliveries.admin.filters import EndpointFilter
from deliveries.models import DeadLetter, Resolution
from deliveries.outcomes import Kind
from endpoints.admin.presentation import endpoint_with_state, visible_url
from endpoints.models import Endpoint


class ResolutionFilter(DefaultChoiceFilter):
    """Open ones unless something else is asked for: those are the ones that need somebody."""

    title = parameter_name = "resolution"
    values = tuple(Resolution.values)
    default = Resolution.OPEN


class FailureClassFilter(ChoiceFilter):
    title = "failure class"
    parameter_name = "failure_class"
    values = (*(kind for kind in Kind if kind is not Kind.DELIVERED), "expired", "archived")


class DeadLetterAdmin(PageAdmin, LogAdmin):
    list_display = ("row", "written", "failure_class", "reason", "endpoint_link", "event_type")
    list_filter = (ResolutionFilter, FailureClassFilter, AgeFilter, EndpointFilter)
    list_select_related = ("endpoint",)
    search_fields = ("pk",)
    search_help_text = "The number of a dead letter or of a delivery, or a whole event id."
    actions = (redrive_selected, discard_selected)
    fields = (
        "resolved_as",
        "resolved",
        "operation_link",
        "failure_class",
        "reason",
        "endpoint_link",
        "event_type",
        "event_link",
        "delivery_link",
        "written",
        "announced",
    )
    readonly_fields = fields

    @property
    def media(self) -> Any:
        return super().media + EndpointFilter.media

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        big = ("body", "headers", "attempts", "endpoint__headers", "endpoint__ca_certificate")
        return super().get_queryset(request).defer(*big)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """The resolution is a column only where it differs from row to row."""
        return (*self.list_display, "resolved_as") if request.GET.get("resolution") == EVERY else self.list_display

    def has_redrive_permission(self, request: HttpRequest) -> bool:
        """Named by the redrive action."""
        return may(request, "deliveries.redrive_deadletter")

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """Named by the discard action."""
        return may(request, "deliveries.discard_deadletter")

    def buttons(self, request: HttpRequest, row: DeadLetter) -> Sequence[Button]:
        return super().buttons(request, row) if row.resolution == Resolution.OPEN else ()

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(delivery__event=term) if number is None else Q(pk=number) | Q(delivery=number)

    def sections(self, request: HttpRequest, row: DeadLetter) -> Sequence[Table | Text]:
        url = visible_url(request, row.url, Endpoint(url=row.url).host) if row.url else "(nothing was sent)"
        return (
            attempts_copied(row.attempts),
            Table(
                "Request",
                ("Part", "As it was sent; the values of the endpoint's own headers are hidden"),
                [("URL", url), *sorted(row.headers.items())],
            ),
            Text("Body, indented for reading", indented(row.body)),
            Text(f"Body, the exact {len(row.body.encode()):,} bytes", row.body, folded=True),
        )

    @admin.display(description="#")
    def row(self, letter: DeadLetter) -> int:
        return int(letter.pk)

    @admin.display(description="written")
    def written(self, letter: DeadLetter) -> SafeString | str:
        return moment(letter.created_at)

    @admin.display(description="announced")
    def announced(self, letter: DeadLetter) -> SafeString | str:
        return moment(letter.announced_at)

    @admin.display(description="resolution")
    def resolved_as(self, letter: DeadLetter) -> SafeString | str:
        return badge(letter.resolution)

    @admin.display(description="resolved")
    def resolved(self, letter: DeadLetter) -> SafeString | str:
        return moment(letter.resolved_at)

    @admin.display(description="operation")
    def operation_link(self, letter: DeadLetter) -> SafeString | str:
        return link_to(letter.operation)

    @admin.display(description="endpoint")
    def endpoint_link(self, letter: DeadLetter) -> SafeString | str:
        return endpoint_with_state(letter.endpoint)

    @admin.display(description="event")
    def event_link(self, letter: DeadLetter) -> SafeString:
        return link("deliveries", "event", letter.delivery.event_id, letter.delivery.event_id)

    @admin.display(description="delivery")
    def delivery_link(self, letter: DeadLetter) -> SafeString:
        return link("deliveries", "delivery", letter.delivery_id, f"#{letter.delivery_id}")
