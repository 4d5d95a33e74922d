"""Operations in the admin: who redrove, discarded or replayed what, and why."""

from collections.abc import Sequence
from typing import Final

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString

from deliveries.models import Operation
from endpoints.admin.filters import ChoiceFilter
from endpoints.admin.page import PageAdmin, Table, Text
from endpoints.admin.presentation import badge, link, link_to, moment
from endpoints.admin.tables import LogAdmin, row_number

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
        if row.kind == Operation.Kind.REPLAY:
            return ()
        letters = row.dead_letters.select_related("endpoint").defer("body", "headers", "attempts", "endpoint__headers")
        return (
            Table(
                "Dead letters",
                ("Dead letter", "Endpoint", "Event type", "Resolution"),
                [
                    (
                        link("deliveries", "deadletter", letter.pk, letter),
                        link_to(letter.endpoint),
                        letter.event_type,
                        badge(letter.resolution),
                    )
                    for letter in letters[:SHOWN_LETTERS]
                ],
                footnote=f"The first {SHOWN_LETTERS} are shown." if row.moved > SHOWN_LETTERS else "",
            ),
        )

    @admin.display(description="when")
    def when(self, operation: Operation) -> SafeString | str:
        return moment(operation.created_at)
