"""Dead letters of the inbox: the whole event that was given up, why, and the two ways out."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.filters import EVERY, AgeFilter, ChoiceFilter, DefaultChoiceFilter
from console.page import Button, PageAdmin, Table, Text
from console.presentation import badge, link_to, may, moment
from console.tables import LogAdmin, row_number
from inbox.admin.bodies import request_sections
from inbox.admin.dead_letter_actions import discard_selected, redrive_selected
from inbox.admin.filters import SourceFilter
from inbox.admin.received_event import failures
from inbox.errors import FailureClass
from inbox.models import DeadLetter, Resolution


class ResolutionFilter(DefaultChoiceFilter):
    """Open ones unless something else is asked for: those are the ones that need somebody."""

    title = parameter_name = "resolution"
    values = tuple(Resolution.values)
    default = Resolution.OPEN


class FailureClassFilter(ChoiceFilter):
    title = "failure class"
    parameter_name = "failure_class"
    values = tuple(FailureClass)


class DeadLetterAdmin(PageAdmin, LogAdmin):
    list_display = ("row", "written", "failure_class", "reason", "source", "event_type")
    list_filter = (ResolutionFilter, FailureClassFilter, AgeFilter, SourceFilter)
    list_select_related = ("source",)
    search_fields = ("pk",)
    search_help_text = "The number of a dead letter, or a whole event id of the provider."
    actions = (redrive_selected, discard_selected)
    fields = (
        "resolved_as",
        "resolved",
        "operation_link",
        "failure_class",
        "reason",
        "source_link",
        "event_type",
        "event_link",
        "written",
        "announced",
    )
    readonly_fields = fields

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """The resolution is a column only where it differs from row to row."""
        return (*self.list_display, "resolved_as") if request.GET.get("resolution") == EVERY else self.list_display

    def has_redrive_permission(self, request: HttpRequest) -> bool:
        """Named by the redrive action."""
        return may(request, "inbox.redrive_deadletter")

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """Named by the discard action."""
        return may(request, "inbox.discard_deadletter")

    def buttons(self, request: HttpRequest, row: DeadLetter) -> Sequence[Button]:
        return super().buttons(request, row) if row.resolution == Resolution.OPEN else ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetter]:
        return super().get_queryset(request).select_related("source")

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(event__event_id=term) if number is None else Q(pk=number)

    def sections(self, request: HttpRequest, row: DeadLetter) -> Sequence[Table | Text]:
        return (failures(row.event), *request_sections(request, row.event))

    @admin.display(description="#")
    def row(self, letter: DeadLetter) -> int:
        return int(letter.pk)

    @admin.display(description="written")
    def written(self, letter: DeadLetter) -> SafeString | str:
        return moment(letter.created_at)

    @admin.display(description="operators told")
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

    @admin.display(description="source")
    def source_link(self, letter: DeadLetter) -> SafeString | str:
        return link_to(letter.source)

    @admin.display(description="event")
    def event_link(self, letter: DeadLetter) -> Any:
        return link_to(letter.event)
