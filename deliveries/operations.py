"""The audit row behind every redrive, discard and replay, kept while the work goes on page by page.

A page's counts are added in the page's own transaction, so an operation that was cut short says how far it came.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from django.db import transaction
from django.db.models import Count, F, Max
from django.db.models.functions import Now
from django.utils import timezone
from redis import RedisError

from deliveries import dispatch, lines, pacing
from deliveries.errors import OperationFinished
from deliveries.models import Delivery, Operation
from deliveries.statuses import Status
from deliveries.transitions.pace import Pace
from deliveries.transitions.withdraw import withdraw

PAGE_ROWS: Final = 500
"""Rows one transaction moves: long enough to be quick, short enough that no worker waits for the locks."""

logger = logging.getLogger(__name__)

Id = TypeVar("Id", int, str)


RAMP_ROWS: Final = 100
"""Deliveries of one endpoint in a page from which on its rate grows from slow to full."""

MOST_PER_SECOND: Final = 10_000.0


def begin(
    kind: Operation.Kind, *, actor: str, note: str, selection: str, rate_per_second: float | None = None
) -> Operation:
    """Write the operation before its first move. Raises ValueError without an actor, or with a rate that is none."""
    if not actor.strip():
        raise ValueError("An operation names its actor.")
    if rate_per_second is not None and not 0 < rate_per_second <= MOST_PER_SECOND:
        raise ValueError(f"rate: more than 0 and at most {MOST_PER_SECOND:,.0f} deliveries a second.")
    operation = Operation.objects.create(
        kind=kind, actor=actor.strip()[:150], note=note.strip(), selection=selection, rate_per_second=rate_per_second
    )
    begun = {name: getattr(operation, name) for name in ("kind", "actor", "selection", "rate_per_second")}
    lines.OPERATION_BEGUN.say_on_commit([{"operation_id": operation.pk, **begun}])
    return operation


def pace(operation: Operation) -> Pace:
    """When the operation's next deliveries become due: after all that it moved before, one after the other."""
    step = 1 / operation.rate_per_second if operation.rate_per_second else 0.0
    return Pace(operation.moved * step, step)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an operation has come. `waiting` were not tried yet; `seconds_left` until the last of them is due."""

    moved: int
    waiting: int
    withdrawn: int
    seconds_left: float


def progress(operation: Operation) -> Progress:
    """Count what still waits for its first attempt of this redrive or replay; reads an index of just those rows."""
    waiting = Delivery.objects.filter(
        operation=operation, status=Status.PENDING, attempt_count=F("budget_offset")
    ).aggregate(rows=Count("pk"), last=Max("next_attempt_at"))
    left = (waiting["last"] - timezone.now()).total_seconds() if waiting["last"] else 0.0
    return Progress(operation.moved, waiting["rows"], operation.withdrawn, max(left, 0.0))


def stop(operation: Operation, *, actor: str) -> Operation:
    """Call back what a redrive or replay has not sent yet; what was tried already runs its course.

    Safe to call again, and to be cut short: each page is a transaction of its own. Raises OperationFinished when
    nothing of it waits any more, and ValueError without an actor.
    """
    if not actor.strip():
        raise ValueError("A stop names its actor.")
    total = 0
    while True:
        with transaction.atomic():
            back = withdraw(operation.pk, PAGE_ROWS).total
            if not back:
                break
            Operation.objects.filter(pk=operation.pk).update(
                withdrawn=F("withdrawn") + back, stopped_at=Now(), stopped_by=actor.strip()[:150]
            )
        total += back
    if not total:
        raise OperationFinished(f"Operation {operation.pk} has nothing left to call back.")
    operation.refresh_from_db()
    lines.OPERATION_STOPPED.say_on_commit(
        [{"operation_id": operation.pk, "kind": operation.kind, "actor": operation.stopped_by, "withdrawn": total}]
    )
    return operation


def add(operation: Operation, *, moved: int, refused: int) -> None:
    """Count a page, in that page's transaction."""
    Operation.objects.filter(pk=operation.pk).update(moved=F("moved") + moved, refused=F("refused") + refused)
    operation.moved += moved
    operation.refused += refused


def finish(operation: Operation, *, held: int, refusals: Counter[str]) -> Operation:
    """Add to the selection, in words, what was left alone and why, and what waits for its endpoint."""
    words = [operation.selection]
    if refusals:
        words.append(f"Left alone: {', '.join(f'{count} {why}' for why, count in refusals.most_common())}.")
    if held:
        words.append(f"{held} wait until their paused or disabled endpoint is enabled.")
    if len(words) > 1:
        operation.selection = " ".join(words)
        operation.save(update_fields=["selection"])
    counts = {"moved": operation.moved, "refused": operation.refused, "held": held}
    lines.OPERATION_FINISHED.say_on_commit([{"operation_id": operation.pk, "kind": operation.kind, **counts}])
    return operation


def ring_on_commit(endpoint_ids: Collection[int]) -> None:
    """Wake the endpoints once the page is committed. Robust: a broker that is away must not undo the rows."""
    if endpoint_ids:
        transaction.on_commit(lambda: dispatch.wake(endpoint_ids), robust=True)


def ramp_on_commit(counts: Counter[int]) -> None:
    """Let endpoints (id -> deliveries that came back) that get many at once come up on a ramp."""
    for endpoint_id, count in counts.items():
        if count >= RAMP_ROWS:
            transaction.on_commit(lambda id=endpoint_id: _ramp(id), robust=True)  # type: ignore[misc]


def _ramp(endpoint_id: int) -> None:
    try:
        pacing.resume(endpoint_id, "a big redrive")
    except RedisError as error:
        logger.warning("endpoint %s gets a redrive without a ramp: %s", endpoint_id, error)


def pages(ids: Sequence[Id], rows: int = PAGE_ROWS) -> Iterator[Sequence[Id]]:
    """The ids in slices of at most `rows`."""
    for start in range(0, len(ids), rows):
        yield ids[start : start + rows]
