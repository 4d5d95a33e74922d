"""Operations in the admin: who redrove, discarded or replayed what, and why."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.confirmation import Question, chosen_rows, confirmed_note
from console.filters import ChoiceFilter
from console.history import log
from console.page import PageAdmin, Table, Text
from console.presentation import badge, link, link_to, may, moment
from console.tables import LogAdmin, row_number
from deliveries import operations
from deliveries.errors import OperationFinished
from deliveries.models import Operation

SHOWN_LETTERS: Final = 50

STOP: Final = Question(
    "stop_selected",
    "Stop redrives and replays",
    "What they have not sent yet is called back: dead letters are open again, replayed deliveries stay delivered. What "
    "was tried already runs its course.",
    "Stop them",
)


class KindFilter(ChoiceFilter):
    title = parameter_name = "kind"
    values = tuple(Operation.Kind.values)


@admin.action(description="Stop", permissions=["stop"])
def stop_selected(
    model_admin: "admin.ModelAdmin[Any]", request: HttpRequest, listed: QuerySet[Operation]
) -> HttpResponse | None:
    rows = chosen_rows(model_admin, request, listed)
    note = confirmed_note(model_admin, request, rows, STOP)
    if isinstance(note, HttpResponse):
        return note
    for operation in rows:
        try:
            stopped = operations.stop(operation, actor=request.user.get_username())
        except OperationFinished as refusal:
            messages.error(request, str(refusal))
            continue
        messages.success(request, f"Operation {stopped.pk}: {stopped.withdrawn} called back.")
        log(request, [stopped], f"Stopped. {note}".strip())
    return None


class OperationAdmin(PageAdmin, LogAdmin):
    list_display = ("when", "kind", "actor", "moved", "refused", "pace", "note", "selection")
    actions = (stop_selected,)
    list_filter = (KindFilter,)
    search_fields = ("actor",)
    search_help_text = "The number of an operation, or a whole user name."
    fields = ("kind", "when", "actor", "note", "selection", "moved", "refused", "pace", "progress", "stopped")
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

    def has_stop_permission(self, request: HttpRequest) -> bool:
        """Named by the stop action."""
        return may(request, "deliveries.stop_operation")

    @admin.display(description="pace")
    def pace(self, operation: Operation) -> str:
        return f"{operation.rate_per_second:g} a second" if operation.rate_per_second else "at once"

    @admin.display(description="progress")
    def progress(self, operation: Operation) -> str:
        if operation.kind == Operation.Kind.DISCARD:
            return "done"
        seen = operations.progress(operation)
        if not seen.waiting:
            return "everything was tried"
        return f"{seen.waiting:,} of {seen.moved:,} not sent yet; the last is due in {seen.seconds_left:,.0f} s"

    @admin.display(description="stopped")
    def stopped(self, operation: Operation) -> SafeString | str:
        if operation.stopped_at is None:
            return "no"
        return format_html(
            "{} by {}; {} called back", moment(operation.stopped_at), operation.stopped_by, operation.withdrawn
        )

    @admin.display(description="when")
    def when(self, operation: Operation) -> SafeString | str:
        return moment(operation.created_at)
