"""The page of an endpoint with what `deliveries` knows: how much waits for it, and what it lost."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.page import Table, Text
from console.presentation import list_link
from console.tables import shown_count
from deliveries.admin.health import health_table, score
from deliveries.admin.pace import UNKNOWN, flow_of, pace_table
from deliveries.models import Resolution
from deliveries.statuses import Status
from endpoints.admin.endpoint import EndpointAdmin
from endpoints.models import Endpoint


class EndpointWithTrafficAdmin(EndpointAdmin):
    """Its health and pace, two counts read from an index and capped, and no deletion of what has a history."""

    list_display: tuple[str, ...] = (*EndpointAdmin.list_display, "score")
    readonly_fields: ClassVar[tuple[str, ...]] = (*EndpointAdmin.readonly_fields, "pace_now", "waiting", "lost")

    def state_fields(self) -> tuple[str, ...]:
        return (*super().state_fields(), "pace_now", "waiting", "lost")

    def sections(self, request: HttpRequest, row: Endpoint) -> Sequence[Table | Text]:
        return (health_table(row), pace_table(row), *super().sections(request, row))

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("health")

    def has_delete_permission(self, request: HttpRequest, obj: Endpoint | None = None) -> bool:
        """Only an endpoint that never got anything may be deleted; others are archived."""
        if obj is not None and obj.deliveries.exists():
            return False
        return super().has_delete_permission(request, obj)

    @admin.display(description="score")
    def score(self, endpoint: Any) -> SafeString | str:
        return score(endpoint)

    @admin.display(description="pace now")
    def pace_now(self, endpoint: Any) -> str:
        flow = flow_of(endpoint)
        return flow.sentence(endpoint.rate_limit_per_second) if flow else UNKNOWN

    @admin.display(description="deliveries waiting")
    def waiting(self, endpoint: Any) -> SafeString:
        count = shown_count(endpoint.deliveries.filter(status=Status.PENDING))
        return list_link("deliveries", "delivery", f"endpoint={endpoint.pk}&status={Status.PENDING}", count)

    @admin.display(description="open dead letters")
    def lost(self, endpoint: Any) -> SafeString:
        count = shown_count(endpoint.dead_letters.filter(resolution=Resolution.OPEN))
        return format_html("{}", list_link("deliveries", "deadletter", f"endpoint={endpoint.pk}", count))
