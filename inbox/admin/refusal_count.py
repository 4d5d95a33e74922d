"""What the door turned away, by source, day and reason."""

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.presentation import EMPTY, moment
from console.tables import LogAdmin
from inbox.admin.filters import SourceFilter
from inbox.models import RefusalCount


class RefusalCountAdmin(LogAdmin):
    list_display = ("day", "source_shown", "reason", "keys", "count", "last")
    list_filter = (SourceFilter,)
    list_select_related = ("source",)
    search_fields = ("reason",)
    search_help_text = "A whole reason, such as bad-signature."
    fields = ("day", "source_shown", "reason", "keys", "count", "last")
    readonly_fields = fields

    def search(self, request: HttpRequest, term: str) -> Q:
        return Q(reason=term)

    @admin.display(description="source")
    def source_shown(self, count: RefusalCount) -> str:
        return count.source.slug if count.source else EMPTY

    @admin.display(description="last")
    def last(self, count: RefusalCount) -> SafeString | str:
        return moment(count.last_at)
