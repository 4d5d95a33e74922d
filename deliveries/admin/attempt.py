"""Attempts in the admin: the log of every request."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.page import PageAdmin, Table, Text
from console.presentation import EMPTY, badge, link, link_to, may, moment
from console.tables import LogAdmin, row_number
from deliveries.admin.attempts import target, took
from deliveries.admin.filters import DeliveryFilter, OutcomeFilter
from deliveries.models import Attempt


class AttemptAdmin(PageAdmin, LogAdmin):
    list_display = (
        "started",
        "delivery_link",
        "number",
        "outcome_shown",
        "status",
        "took",
        "where_shortly",
        "reason",
    )
    list_filter = (OutcomeFilter, DeliveryFilter)
    list_select_related = ("delivery",)
    search_fields = ("delivery",)
    search_help_text = "The number of a delivery, or the id of an event."
    fields = (
        "delivery_link",
        "endpoint_link",
        "number",
        "outcome_shown",
        "status",
        "reason",
        "retry_after",
        "where",
        "started",
        "took",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Attempt]:
        return super().get_queryset(request).defer("snippet")

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(delivery__event=term) if number is None else Q(delivery=number)

    def sections(self, request: HttpRequest, row: Attempt) -> Sequence[Table | Text]:
        if not may(request, "deliveries.view_answer"):
            return ()
        return (Text("The beginning of the answer", row.snippet or "(no answer was kept)"),)

    @admin.display(description="started")
    def started(self, attempt: Attempt) -> SafeString | str:
        return moment(attempt.started_at)

    @admin.display(description="delivery")
    def delivery_link(self, attempt: Attempt) -> SafeString:
        return link("deliveries", "delivery", attempt.delivery_id, f"#{attempt.delivery_id}")

    @admin.display(description="endpoint")
    def endpoint_link(self, attempt: Attempt) -> SafeString | str:
        return link_to(attempt.delivery.endpoint)

    @admin.display(description="outcome")
    def outcome_shown(self, attempt: Attempt) -> SafeString | str:
        return badge(attempt.outcome)

    @admin.display(description="status")
    def status(self, attempt: Attempt) -> int | None:
        return attempt.status_code

    @admin.display(description="took")
    def took(self, attempt: Attempt) -> str:
        return took(attempt.duration_ms)

    @admin.display(description="sent to")
    def where_shortly(self, attempt: Attempt) -> str:
        return attempt.host or EMPTY

    @admin.display(description="sent to")
    def where(self, attempt: Attempt) -> Any:
        return target(attempt.host, attempt.address)
