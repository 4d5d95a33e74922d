"""Changelists that stay fast on tables of millions of rows, and those that only show.

Three things kill an admin list: an exact count, a filter that asks the table for its distinct values, and an order no
index serves. Here counts are capped, filters are declared, and the order is the model's own.
"""

from typing import Any, ClassVar, Final, cast

from django.contrib import admin
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import connections, models
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from console.presentation import EMPTY

COUNT_CAP: Final = 10_000
"""Rows a list counts and pages through at most; beyond that a filter helps more than page 201."""


def capped_count(rows: QuerySet[Any], cap: int) -> int:
    """Count `rows` by reading at most `cap` + 1 of them: a result above `cap` means "more than that"."""
    return rows.order_by()[: cap + 1].count()


def row_number(term: str) -> int | None:
    """A row's number as people type it (`42`, `#42`); None for anything else, and for what no bigint holds."""
    digits = term.removeprefix("#")
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 19 else None


def shown_count(rows: QuerySet[Any], cap: int = 1_000) -> str:
    """The same for people: "12", or "1,000+"."""
    counted = capped_count(rows, cap)
    return f"{cap:,}+" if counted > cap else f"{counted:,}"


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages through the first COUNT_CAP rows. `total` says in words how many there are."""

    @cached_property
    def count(self) -> int:
        return min(self._found, COUNT_CAP)

    @property
    def total(self) -> str:
        """What the list's footer says: an exact number, "about 5,200,000" or "more than 10,000"."""
        if self._found <= COUNT_CAP:
            return f"{self._found:,}"
        return f"about {self._estimate:,}" if self._estimate > COUNT_CAP else f"more than {COUNT_CAP:,}"

    @cached_property
    def _found(self) -> int:
        return self._estimate if self._estimate > COUNT_CAP else capped_count(self._rows, COUNT_CAP)

    @cached_property
    def _estimate(self) -> int:
        """The planner's idea of a whole table's size; 0 for a filtered list and a table it knows nothing about."""
        rows = self._rows
        if rows.query.where:
            return 0
        with connections[rows.db].cursor() as cursor:
            cursor.execute(
                "SELECT reltuples::bigint FROM pg_class WHERE oid = %s::regclass", [rows.model._meta.db_table]
            )
            return max(int(cursor.fetchone()[0]), 0)

    @property
    def _rows(self) -> QuerySet[Any]:
        return cast(QuerySet[Any], self.object_list)


class FixedOrderChangeList(ChangeList):
    """A list in the model's own order, whatever the address asks for: sorting by another column reads every row."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.lookup_opts.ordering or ["-pk"])


class BigTableAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The base of every list that may grow without bound."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    sortable_by = ()

    class Media:
        css: ClassVar = {"all": ["console/admin.css"]}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return FixedOrderChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only the declared filters. Django would let an address filter by any column, and so guess hidden text."""
        return lookup in {getattr(each, "parameter_name", each) for each in self.list_filter}

    def search(self, request: HttpRequest, term: str) -> Q:
        """What a search for `term` means; only what an index answers. Lists with `search_fields` say it."""
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        return (queryset.filter(self.search(request, term)) if term else queryset), False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Every action but bulk deletion, which would load the selection and everything that hangs on it."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}


def _says_something(model_admin: admin.ModelAdmin, row: models.Model, name: str) -> bool:  # type: ignore[type-arg]
    show = getattr(model_admin, name, None)
    return (show(row) if show else getattr(row, name)) not in (None, "", EMPTY)


class LogAdmin(BigTableAdmin):
    """Rows that the pipeline writes: looked at here, never added, changed or deleted."""

    def get_fields(self, request: HttpRequest, obj: models.Model | None = None) -> Any:
        """The fields that say something about this row."""
        shown = super().get_fields(request, obj)
        return [name for name in shown if _says_something(self, obj, str(name))] if obj else shown

    def has_add_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        return False
