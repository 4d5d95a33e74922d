"""The filters that the lists of the inbox share."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest

from console.filters import TypedFilter


class SourceFilter(TypedFilter):
    """Exactly the slug that is typed."""

    title = parameter_name = "source"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        slug = (self.value() or "").strip()
        return queryset.filter(source__slug=slug) if slug else queryset
