"""The audit row behind every redrive, discard and replay, kept while the work goes on page by page.

A page's counts are added in the page's own transaction, so an operation that was cut short says how far it came.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Final, TypeVar

from django.db import transaction
from django.db.models import F

from deliveries import dispatch
from deliveries.models import Operation

PAGE_ROWS: Final = 500
"""Rows one transaction moves: long enough to be quick, short enough that no worker waits for the locks."""

Id = TypeVar("Id", int, str)


def begin(kind: Operation.Kind, *, actor: str, note: str, selection: str) -> Operation:
    """Write the operation before its first move. Raises ValueError without an actor."""
    if not actor.strip():
        raise ValueError("An operation names its actor.")
    return Operation.objects.create(kind=kind, actor=actor.strip()[:150], note=note.strip(), selection=selection)


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
    return operation


def ring_on_commit(endpoint_ids: Collection[int]) -> None:
    """Wake the endpoints once the page is committed. Robust: a broker that is away must not undo the rows."""
    if endpoint_ids:
        transaction.on_commit(lambda: dispatch.wake(endpoint_ids), robust=True)


def pages(ids: Sequence[Id], rows: int = PAGE_ROWS) -> Iterator[Sequence[Id]]:
    """The ids in slices of at most `rows`."""
    for start in range(0, len(ids), rows):
        yield ids[start : start + rows]
