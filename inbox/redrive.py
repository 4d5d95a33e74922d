"""Redrive and discard: the two ways out of the inbox's dead letters. Both leave an operation that says who and why.

A page's counts are added in the page's own transaction, so an operation that was cut short says how far it came.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet

from inbox import dispatch
from inbox.errors import NoteRequired, RedriveRefused
from inbox.models import DeadLetter, Operation, Resolution
from inbox.transitions import discard as discard_rows
from inbox.transitions import redrive as redrive_rows

DeadLetters = QuerySet[DeadLetter] | Iterable[int]
Move = Callable[[Sequence[int], Operation], set[int]]

PAGE_ROWS: Final = 500
"""Rows one transaction moves: short enough that no worker waits for the locks."""

# How a refusal reads in a count, and how of a single dead letter.
_ALONE: Final = {
    "already redriven": "it is already redriven",
    "already discarded": "it is already discarded",
    "that does not exist": "it does not exist",
    "changed meanwhile": "somebody else was faster",
}


def redrive(
    dead_letters: DeadLetters,
    *,
    actor: str,
    note: str = "",
    selection: str = "",
    rate_per_second: float | None = None,
) -> Operation:
    """Send the events of open dead letters back to work: a fresh budget, attempt numbers go on, no age is judged again.

    `dead_letters` is a queryset or ids, fixed at the call. Rows that are not open are left alone and counted in the
    operation's `refused`, in words in its `selection`. A call that names exactly one raises RedriveRefused instead;
    nothing is recorded then. With `rate_per_second` they become due one after the other, and the selection says so;
    without it all at once. Raises ValueError without an actor, and for a rate that is not above 0.
    """
    if rate_per_second is not None and not rate_per_second > 0:
        raise ValueError("A rate is above 0.")
    ids = _ids(dead_letters)
    if rate_per_second and len(ids) > 1:
        selection = f"{selection or _by_id(ids)} At {rate_per_second:g} a second."
    step = 1 / rate_per_second if rate_per_second else 0.0
    return _run(Operation.Kind.REDRIVE, ids, partial(_redrive_page, step_seconds=step), actor, note, selection)


def discard(dead_letters: DeadLetters, *, actor: str, note: str, selection: str = "") -> Operation:
    """Let open dead letters go for good; their events stay dead. Counts and refuses as `redrive` does.

    Raises NoteRequired without a note.
    """
    if not note.strip():
        raise NoteRequired("A discard needs a note: say why these dead letters may be let go.")
    return _run(Operation.Kind.DISCARD, _ids(dead_letters), _discard_page, actor, note, selection)


def preview(dead_letters: DeadLetters) -> tuple[int, Counter[str]]:
    """How many either of them would move now, and why it would leave others alone."""
    return _judged(_ids(dead_letters))


def _run(kind: Operation.Kind, ids: Sequence[int], move: Move, actor: str, note: str, selection: str) -> Operation:
    if not actor.strip():
        raise ValueError("An operation names its actor.")
    selection = selection or _by_id(ids)
    refusals = Counter[str]()
    operation = Operation(kind=kind, actor=actor.strip()[:150], note=note.strip(), selection=selection)
    if len(ids) == 1:
        with transaction.atomic():
            operation.save()
            if refused := _page(operation, ids, move):
                raise RedriveRefused(f"Dead letter {ids[0]} was left alone: {_ALONE[next(iter(refused))]}.")
        return operation
    operation.save()
    for page in _pages(ids):
        with transaction.atomic():
            refusals += _page(operation, page, move)
    if refusals:
        words = ", ".join(f"{count} {why}" for why, count in refusals.most_common())
        operation.selection = f"{selection} Left alone: {words}."
        operation.save(update_fields=["selection"])
    return operation


def _page(operation: Operation, ids: Sequence[int], move: Move) -> Counter[str]:
    moved = move(ids, operation)
    left = [id for id in ids if id not in moved]
    counts = {"moved": F("moved") + len(moved), "refused": F("refused") + len(left)}
    Operation.objects.filter(pk=operation.pk).update(**counts)
    operation.moved += len(moved)
    operation.refused += len(left)
    still_open, refusals = _judged(left)
    # One that looks ready was just refused, so it was moved back since.
    return refusals + Counter({"changed meanwhile": still_open} if still_open else {})


def _redrive_page(ids: Sequence[int], operation: Operation, step_seconds: float) -> set[int]:
    # After all that the pages before it moved.
    first = operation.moved * step_seconds
    rows = redrive_rows.redrive(ids, operation.pk, first_seconds=first, step_seconds=step_seconds)
    sources = {source for _, source in rows}
    # Robust: a broker that is away must not undo the rows.
    transaction.on_commit(lambda: dispatch.wake(sources), robust=True)
    return {letter for letter, _ in rows}


def _discard_page(ids: Sequence[int], operation: Operation) -> set[int]:
    return set(discard_rows.discard(ids, operation.pk))


def _judged(ids: Sequence[int]) -> tuple[int, Counter[str]]:
    ready, refusals = 0, Counter[str]()
    for page in _pages(ids):
        resolutions = DeadLetter.objects.filter(pk__in=page).values_list("resolution", flat=True)
        for resolution in resolutions:
            if resolution == Resolution.OPEN:
                ready += 1
            else:
                refusals[f"already {resolution}"] += 1
        if missing := len(page) - len(resolutions):
            refusals["that does not exist"] += missing
    return ready, refusals


def _by_id(ids: Sequence[int]) -> str:
    return f"{len(ids)} dead letter{'s' if len(ids) != 1 else ''} by id."


def _pages(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), PAGE_ROWS):
        yield ids[start : start + PAGE_ROWS]


def _ids(dead_letters: DeadLetters) -> list[int]:
    rows = dead_letters.values_list("pk", flat=True) if isinstance(dead_letters, QuerySet) else dead_letters
    # Oldest first, and in one order for everybody: two operations on the same rows cannot deadlock.
    return sorted(set(rows))
