"""List filters that never ask the table what values it holds."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest

from console.tables import row_number


class ChoiceFilter(admin.SimpleListFilter):
    """One column against a fixed set of values. Subclasses name `title`, `parameter_name` and `values`."""

    values: ClassVar[tuple[str, ...]]

    def lookups(self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]") -> list[tuple[str, str]]:
        return [(value, value) for value in self.values]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        return queryset.filter(**{str(self.parameter_name): value}) if value in self.values else queryset


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
