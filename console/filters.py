"""List filters that never ask the table what values it holds."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, ClassVar, Final

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils import timezone

from console.tables import row_number

EVERY: Final = "all"
"""The choice that switches a filter with a default off."""


class ChoiceFilter(admin.SimpleListFilter):
    """One column against a fixed set of values. Subclasses name `title`, `parameter_name` and `values`."""

    values: ClassVar[tuple[str, ...]]

    def lookups(self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(value, value) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{str(self.parameter_name): value}) if value in self.values else queryset


class DefaultChoiceFilter(ChoiceFilter):
    """The same, with one of the values in force unless another, or EVERY, is asked for. Subclasses name `default`."""

    default: ClassVar[str]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset.filter(**{str(self.parameter_name): self.default})
        return super().queryset(request, queryset)

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        for value in (*self.values, EVERY):
            yield {
                "selected": (self.value() or self.default) == value,
                "query_string": changelist.get_query_string({str(self.parameter_name): value}),
                "display": value,
            }


class TypedFilter(admin.SimpleListFilter):
    """One column against exactly what is typed into a box. Subclasses name `title` and `parameter_name`."""

    template = "console/typed_filter.html"

    def lookups(self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]") -> list[tuple[str, str]]:
        # Django drops a filter without choices.
        return [("", "")]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """What the template needs: the value now, the other filters to keep, and the address without this one."""
        kept = {name: value for name, value in changelist.params.items() if name != self.parameter_name}
        yield {
            "value": self.value() or "",
            "name": self.parameter_name,
            "kept": {name: value[-1] if isinstance(value, list) else value for name, value in kept.items()},
            "clear": changelist.get_query_string(remove=[str(self.parameter_name)]),
        }

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{str(self.parameter_name): value.strip()}) if value and value.strip() else queryset


class RowFilter(TypedFilter):
    """A foreign key against the number that is typed; what is no number matches nothing."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        if not value:
            return queryset
        number = row_number(value)
        return queryset.none() if number is None else queryset.filter(**{str(self.parameter_name): number})


class AgeFilter(admin.SimpleListFilter):
    """How old rows are by `created_at`. Numbers grow with time, so the limit is a number: the newest one too old."""

    title = "age"
    parameter_name = "age"
    spans: ClassVar = {
        "hour": ("past hour", timedelta(hours=1)),
        "day": ("past 24 hours", timedelta(days=1)),
        "week": ("past 7 days", timedelta(days=7)),
    }

    def lookups(self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(name, words) for name, (words, _) in self.spans.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        _, span = self.spans.get(self.value() or "", ("", None))
        if span is None:
            return queryset
        too_old = queryset.model._default_manager.filter(created_at__lt=timezone.now() - span).order_by("-pk")
        return queryset.filter(pk__gt=Coalesce(too_old.values("pk")[:1], Value(0)))
