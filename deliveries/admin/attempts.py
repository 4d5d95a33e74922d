"""The table of attempts, on the page of a delivery and on that of its dead letter."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.utils.dateparse import parse_datetime

from console.page import Table
from console.presentation import EMPTY, badge, link, list_link, moment
from deliveries.models import Attempt, Delivery

SHOWN: Final = 50
_HEADINGS: Final = ("#", "Started", "Outcome", "Status", "Took", "Address", "Reason")


def attempts_of(delivery: Delivery, *, with_answers: bool) -> Table:
    """The newest attempts of a delivery, newest first; what the endpoint answered only for those who may see it."""
    rows = delivery.attempts.order_by("-number").defer(*(() if with_answers else ("snippet",)))[:SHOWN]
    return Table(
        "Attempts",
        (*_HEADINGS, "Answer") if with_answers else _HEADINGS,
        [_row(row, with_answers) for row in rows],
        empty="None yet.",
        footnote=list_link("deliveries", "attempt", f"delivery={delivery.pk}", "All attempts of this delivery"),
    )


def attempts_copied(copies: Iterable[Mapping[str, Any]]) -> Table:
    """The attempts that a dead letter carries with it, oldest first."""
    return Table("Attempts", _HEADINGS, [_copied_row(copy) for copy in copies], empty="None: nothing was sent.")


def took(duration_ms: int) -> str:
    """Milliseconds as people read them."""
    return f"{duration_ms} ms" if duration_ms < 1_000 else f"{duration_ms / 1_000:.1f} s"


def target(host: str, address: str) -> str:
    """Where a request went."""
    return f"{host} ({address})" if address else host or EMPTY


def _row(attempt: Attempt, with_answers: bool) -> Sequence[Any]:
    cells = (
        link("deliveries", "attempt", attempt.pk, attempt.number),
        *_cells(attempt.started_at, attempt.outcome, attempt.status_code, attempt.duration_ms),
        target(attempt.host, attempt.address),
        attempt.reason,
    )
    return (*cells, attempt.snippet or EMPTY) if with_answers else cells


def _copied_row(copy: Mapping[str, Any]) -> Sequence[Any]:
    started_at = parse_datetime(str(copy.get("started_at", "")))
    return (
        copy.get("number", EMPTY),
        *_cells(started_at, str(copy.get("outcome", "")), copy.get("status_code"), copy.get("duration_ms") or 0),
        target(str(copy.get("host", "")), str(copy.get("address", ""))),
        copy.get("reason", ""),
    )


def _cells(started_at: datetime | None, outcome: str, status_code: int | None, duration_ms: int) -> Sequence[Any]:
    return moment(started_at), badge(outcome), status_code or EMPTY, took(duration_ms)
