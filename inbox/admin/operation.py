"""Operations in the admin: who redrove or discarded what, and why."""

from collections.abc import Sequence
from typing import Final

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from console.filters import ChoiceFilter
from console.page import PageAdmin, Table, Text
from console.presentation import badge, link, moment
from console.tables import LogAdmin, row_number
from inbox.models import Operation

SHOWN_LETTERS: Final = 50


class KindFilter(ChoiceFilter):
    title = parameter_name = "kind"
    values = tuple(Operation.Kind.values)


class OperationAdmin(PageAdmin, LogAdmin):
    list_display = ("when", "kind", "actor", "moved", "refused", "note", "selection")
    list_filter = (KindFilter,)
    search_fields = ("actor",)
    search_help_text = "The number of an operation, or a whole user name."
    fields = ("kind", "when", "actor", "note", "selection", "moved", "refused")
    readonly_fields = fields

    def search(self, request: HttpRequest, term: str) -> Q:
        number = row_number(term)
        return Q(actor=term) if number is None else Q(pk=number)

    def sections(self, request: HttpRequest, row: Operation) -> Sequence[Table | Text]:
        letters = row.dead_letters.select_related("source")[:SHOWN_LETTERS]
        return (
            Table(
                "Dead letters",
                ("Dead letter", "Source", "Type", "Resolution"),
                [
                    (link("inbox", "deadletter", each.pk, each), each.source, each.event_type, badge(each.resolution))
                    for each in letters
                ],
                footnote=f"The newest {SHOWN_LETTERS} are shown." if row.moved > SHOWN_LETTERS else "",
            ),
        )

    @admin.display(description="when")
    def when(self, operation: Operation) -> SafeString | str:
        return moment(operation.created_at)
