"""The ledger of endpoint states, across all endpoints."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.filters import ChoiceFilter, RowFilter
from console.presentation import badge, link_to, moment
from console.tables import LogAdmin, row_number
from endpoints.models import State, StateChange


class ToStateFilter(ChoiceFilter):
    title = "new state"
    parameter_name = "to_state"
    values = tuple(State.values)


class EndpointNumberFilter(RowFilter):
    title = parameter_name = "endpoint"


class StateChangeAdmin(LogAdmin):
    list_display = ("when", "endpoint_link", "from_shown", "to_shown", "actor", "reason")
    list_filter = (ToStateFilter, EndpointNumberFilter)
    list_select_related = ("endpoint",)
    search_fields = ("endpoint",)
    search_help_text = "The number of an endpoint."
    fields = ("when", "endpoint_link", "from_shown", "to_shown", "actor", "reason")
    readonly_fields = fields

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(pk__in=[]) if number is None else Q(endpoint=number)

    @admin.display(description="when")
    def when(self, change: StateChange) -> SafeString | str:
        return moment(change.at)

    @admin.display(description="endpoint")
    def endpoint_link(self, change: StateChange) -> SafeString | str:
        return link_to(change.endpoint)

    @admin.display(description="from")
    def from_shown(self, change: StateChange) -> SafeString | str:
        return badge(change.from_state)

    @admin.display(description="to")
    def to_shown(self, change: StateChange) -> SafeString | str:
        return badge(change.to_state)
