"""The filters that the lists of deliveries share; each is served by an index whatever the size of the table."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AutocompleteSelect
from django.db.models import QuerySet
from django.http import HttpRequest

from console.filters import ChoiceFilter, RowFilter, TypedFilter
from console.tables import row_number
from deliveries.models import DeadLetter, Delivery
from deliveries.outcomes import Kind
from deliveries.statuses import Status
from endpoints.models import Endpoint

_PICKER = AutocompleteSelect(Delivery._meta.get_field("endpoint"), admin.site, attrs={"style": "width: 100%"})


class EndpointPick(forms.Form):
    """Finds an endpoint by number, description or URL."""

    endpoint = forms.ModelChoiceField(
        Endpoint.objects.defer("headers", "ca_certificate"), required=False, label="", widget=_PICKER
    )


class EndpointFilter(RowFilter):
    title = parameter_name = "endpoint"
    template = "deliveries/admin/endpoint_filter.html"
    media = _PICKER.media

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for choice in super().choices(changelist):
            yield {
                **choice,
                "form": EndpointPick(initial={"endpoint": row_number(choice["value"])}, auto_id="filter_%s"),
            }


class StatusFilter(ChoiceFilter):
    title = parameter_name = "status"
    values = tuple(Status)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = super().queryset(request, queryset)
        if self.value() == Status.DEAD:
            # No index knows the dead among millions of delivered ones, but each of them has a dead letter.
            return found.filter(pk__in=DeadLetter.objects.values("delivery"))
        return found


class EventFilter(TypedFilter):
    title = parameter_name = "event"


class DeliveryFilter(RowFilter):
    title = parameter_name = "delivery"


class OutcomeFilter(ChoiceFilter):
    """Attempts carry no index on their outcome, so only the newest are looked through."""

    title = "outcome (of the newest 100,000)"
    parameter_name = "outcome"
    values = tuple(Kind)
    newest: ClassVar = 100_000

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in self.values:
            return queryset
        last = queryset.model._default_manager.order_by("-pk").values_list("pk", flat=True).first() or 0
        return super().queryset(request, queryset).filter(pk__gt=last - self.newest)
