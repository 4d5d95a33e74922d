"""Endpoints in the admin: their form, their state and its ledger, their secrets' fingerprints."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.filters import ChoiceFilter, TypedFilter
from console.page import Button, PageAdmin, Table, Text
from console.presentation import badge, list_link, may, moment
from console.tables import BigTableAdmin, row_number
from endpoints.admin import state_actions
from endpoints.admin.endpoint_form import EndpointForm
from endpoints.admin.presentation import visible_url
from endpoints.admin.secret_views import PERMISSION, SecretViews
from endpoints.admin.signing_secrets import changes_table, secrets_table
from endpoints.models import Endpoint, SigningSecret, State

SHOWN_CHANGES = 10


class StateFilter(ChoiceFilter):
    title = parameter_name = "state"
    values = tuple(State.values)


class TenantFilter(TypedFilter):
    title = parameter_name = "tenant"


class EndpointAdmin(SecretViews, PageAdmin, BigTableAdmin):
    """What `endpoints` knows of an endpoint. An app that sends to them may register a subclass that knows more."""

    form = EndpointForm
    list_display: tuple[str, ...] = ("row", "who", "tenant_shown", "state_shown", "since", "subscriptions", "pace")
    list_display_links = ("row", "who")
    list_filter = (StateFilter, TenantFilter)
    search_fields = ("pk", "description", "url")
    search_help_text = "A number, or a part of the description or the URL."
    actions = (state_actions.pause, state_actions.enable, state_actions.disable, state_actions.archive)
    readonly_fields: ClassVar[tuple[str, ...]] = ("state_explained", "header_names", "created")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("retry_policy")

    def get_fieldsets(self, request: HttpRequest, obj: Endpoint | None = None) -> Any:
        """Stored header values and the URL's path never reach the page of somebody who may only look."""
        changes = self.has_change_permission(request, obj) if obj else True
        state = [(None, {"fields": self.state_fields()})] if obj else []
        names = ("header_names",) if obj else ()
        typed = ("headers",) if changes else ()
        return [
            *state,
            (
                "Receiver",
                {"fields": ("url" if changes else "url_shown", "event_types", "tenant", "description", "owner_email")},
            ),
            (
                "Pace and retries",
                {
                    "fields": (
                        "rate_limit_per_second",
                        "max_concurrency",
                        "timeout_seconds",
                        "ordered",
                        "dead_letter_blocks",
                        "retry_policy",
                    )
                },
            ),
            ("Health", {"fields": ("health_thresholds",)}),
            ("Request", {"fields": (*names, *typed, "ca_certificate")}),
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: Endpoint | None = None) -> tuple[str, ...]:
        # The admin asks a method with this name for its value, and that has no request: remember it on the row.
        if obj is not None:
            obj.visible_url = visible_url(request, obj.url, obj.host)  # type: ignore[attr-defined]
        return (*self.readonly_fields, "url_shown")

    def state_fields(self) -> tuple[str, ...]:
        """The fields about where the endpoint stands."""
        return ("state_explained", "created")

    def sections(self, request: HttpRequest, row: Endpoint) -> Sequence[Table | Text]:
        return (secrets_table(row, timezone.now()), changes_table(row), _ledger(row))

    def buttons(self, request: HttpRequest, row: Endpoint) -> Sequence[Button]:
        offered = [
            button
            for button in super().buttons(request, row)
            if row.state in state_actions.LEGAL_FROM.get(button.action, tuple(State))
        ]
        if may(request, PERMISSION) and row.state != State.ARCHIVED:
            address = reverse("admin:endpoints_endpoint_rotate", args=[row.pk])
            offered.append(Button("Rotate the signing secret", address=address))
            if SigningSecret.objects.live(timezone.now()).filter(endpoint=row).count() > 1:
                address = reverse("admin:endpoints_endpoint_revoke", args=[row.pk])
                offered.append(Button("Revoke a signing secret", address=address))
        return offered

    def has_change_state_permission(self, request: HttpRequest) -> bool:
        """Named by the actions that move an endpoint's state."""
        return may(request, "endpoints.change_endpoint_state")

    def search(self, request: HttpRequest, term: str) -> Q:
        """Endpoints are few, so parts of a text may be searched; the URL only by those who may see it."""
        found = Q(description__icontains=term)
        if may(request, "endpoints.change_endpoint"):
            found |= Q(url__icontains=term)
        number = row_number(term)
        return found if number is None else found | Q(pk=number)

    @admin.display(description="#")
    def row(self, endpoint: Endpoint) -> int:
        return int(endpoint.pk)

    @admin.display(description="host")
    def who(self, endpoint: Endpoint) -> SafeString:
        return format_html('{}<br><span class="quiet">{}</span>', endpoint.host, endpoint.description)

    @admin.display(description="tenant")
    def tenant_shown(self, endpoint: Endpoint) -> str:
        return endpoint.tenant

    @admin.display(description="state")
    def state_shown(self, endpoint: Endpoint) -> SafeString | str:
        return badge(endpoint.state)

    @admin.display(description="state")
    def state_explained(self, endpoint: Endpoint) -> SafeString:
        """The state with its time, author and reason."""
        by = f" by {endpoint.state_changed_by}" if endpoint.state_changed_by else ""
        reason = f": {endpoint.state_reason}" if endpoint.state_reason else ""
        since = moment(endpoint.state_changed_at)
        return format_html("{} since {}{}{}", badge(endpoint.state), since, by, reason)

    @admin.display(description="since")
    def since(self, endpoint: Endpoint) -> SafeString | str:
        return moment(endpoint.state_changed_at)

    @admin.display(description="created")
    def created(self, endpoint: Endpoint) -> SafeString | str:
        return moment(endpoint.created_at)

    @admin.display(description="events")
    def subscriptions(self, endpoint: Endpoint) -> str:
        shown = ", ".join(endpoint.event_types[:3])
        return f"{shown} and {len(endpoint.event_types) - 3} more" if len(endpoint.event_types) > 3 else shown

    @admin.display(description="pace")
    def pace(self, endpoint: Endpoint) -> str:
        at_once = "one at a time" if endpoint.ordered else f"{endpoint.max_concurrency} at once"
        rate = endpoint.rate_limit_per_second
        return f"{rate:g}/s, {at_once}" if rate is not None else at_once

    @admin.display(description="stored headers")
    def header_names(self, endpoint: Endpoint) -> str:
        return ", ".join(sorted(endpoint.headers)) or "none"

    @admin.display(description="URL")
    def url_shown(self, endpoint: Endpoint) -> str:
        return getattr(endpoint, "visible_url", endpoint.host)


def _ledger(endpoint: Endpoint) -> Table:
    changes = endpoint.state_changes.all()[:SHOWN_CHANGES]
    return Table(
        "Changes of state",
        ("When", "From", "To", "Who or what", "Reason"),
        [(moment(row.at), badge(row.from_state), badge(row.to_state), row.actor, row.reason) for row in changes],
        empty="It has been active since it was made.",
        footnote=list_link("endpoints", "statechange", f"endpoint={endpoint.pk}", "All changes of its state"),
    )
