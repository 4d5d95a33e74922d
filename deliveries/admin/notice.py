"""Notices in the admin: what people were told, when, and over which channels."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.filters import ChoiceFilter
from console.page import PageAdmin, Table, Text
from console.presentation import link_to, moment
from console.tables import LogAdmin, row_number
from deliveries.models import Notice, NoticeKind


class KindFilter(ChoiceFilter):
    title = parameter_name = "kind"
    values = tuple(NoticeKind.values)


class NoticeAdmin(PageAdmin, LogAdmin):
    list_display = ("row", "when", "kind", "title", "endpoint_link", "over", "told")
    list_filter = (KindFilter,)
    list_select_related = ("endpoint",)
    search_fields = ("pk",)
    search_help_text = "The number of a notice, or the whole address of an owner."
    fields = ("kind", "when", "title", "endpoint_link", "over", *("by_log", "to_owner", "to_operators", "as_event"))
    readonly_fields = fields

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(owner_email=term) if number is None else Q(pk=number)

    def sections(self, request: HttpRequest, row: Notice) -> Sequence[Table | Text]:
        return (Text("Text", row.text),)

    @admin.display(description="#")
    def row(self, notice: Notice) -> int:
        return int(notice.pk)

    @admin.display(description="when")
    def when(self, notice: Notice) -> SafeString | str:
        return moment(notice.created_at)

    @admin.display(description="endpoint")
    def endpoint_link(self, notice: Notice) -> SafeString | str:
        return link_to(notice.endpoint)

    @admin.display(description="over since")
    def over(self, notice: Notice) -> SafeString | str:
        return moment(notice.ended_at) if notice.ended_at != notice.created_at else ""

    @admin.display(description="told")
    def told(self, notice: Notice) -> SafeString | str:
        return moment(notice.done_at) if notice.done_at else "not yet everybody"

    @admin.display(description="in the log")
    def by_log(self, notice: Notice) -> SafeString | str:
        return moment(notice.logged_at)

    @admin.display(description="mailed to the owner")
    def to_owner(self, notice: Notice) -> Any:
        return moment(notice.owner_mailed_at) if notice.owner_email else ""

    @admin.display(description="mailed to the operators")
    def to_operators(self, notice: Notice) -> SafeString | str:
        return moment(notice.operators_mailed_at)

    @admin.display(description="published")
    def as_event(self, notice: Notice) -> SafeString | str:
        return moment(notice.published_at)
