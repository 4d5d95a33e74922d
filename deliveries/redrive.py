"""Redrive and discard: what people decide about dead letters. Both leave an Operation saying who, why and how many."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from deliveries import operations
from deliveries.errors import NoteRequired, RedriveRefused
from deliveries.models import DeadLetter, Operation, Resolution
from deliveries.transitions import discard as discard_rows
from deliveries.transitions import redrive as redrive_rows
from endpoints.models import State

DeadLetters = QuerySet[DeadLetter] | Iterable[int]


@dataclass(slots=True)
class Preview:
    """What an operation would do: rows it would move, how many of them would wait, and why others are left alone."""

    ready: int = 0
    held: int = 0
    refusals: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Page:
    """What one page moved: the letters, the endpoints to wake, and how many wait for theirs to be enabled."""

    letters: set[int]
    endpoints: set[int] = field(default_factory=set)
    held: int = 0


# How a refusal reads in a count, and how of a single dead letter.
_ALONE: Final = {
    "already redriven": "it is already redriven",
    "already discarded": "it is already discarded",
    "whose endpoint is archived": "its endpoint is archived, and archived endpoints never come back",
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
    """Send open dead letters' deliveries back to work: fresh budget, fresh deadline, attempt numbers go on.

    `dead_letters` is a queryset or ids, fixed at the call. Rows that are not open, or whose endpoint is archived, are
    left alone and counted in the operation's `refused`, in words in its `selection`. Deliveries of a paused or disabled
    endpoint go back too, and wait for it. A call that names exactly one dead letter raises RedriveRefused instead of
    counting it; nothing is recorded then. With `rate_per_second` they become due one after the other; without it at
    once, and an endpoint that gets many back comes up on a ramp.
    """
    return _run(
        Operation.Kind.REDRIVE,
        _ids(dead_letters),
        _redrive_page,
        actor=actor,
        note=note,
        selection=selection,
        rate_per_second=rate_per_second,
    )


def discard(dead_letters: DeadLetters, *, actor: str, note: str, selection: str = "") -> Operation:
    """Let open dead letters go for good; their deliveries stay dead. Counts and refuses as `redrive` does.

    Raises NoteRequired without a note.
    """
    if not note.strip():
        raise NoteRequired("A discard needs a note: say why these dead letters may be let go.")
    return _run(Operation.Kind.DISCARD, _ids(dead_letters), _discard_page, actor=actor, note=note, selection=selection)


def preview_redrive(dead_letters: DeadLetters) -> Preview:
    """What `redrive` would do now, without doing it."""
    return _preview(Operation.Kind.REDRIVE, _ids(dead_letters))


def preview_discard(dead_letters: DeadLetters) -> Preview:
    """What `discard` would do now, without doing it."""
    return _preview(Operation.Kind.DISCARD, _ids(dead_letters))


def _run(
    kind: Operation.Kind,
    ids: Sequence[int],
    move: Callable[[Sequence[int], Operation], _Page],
    *,
    actor: str,
    note: str,
    selection: str,
    rate_per_second: float | None = None,
) -> Operation:
    selection = selection or f"{len(ids)} dead letter{'s' if len(ids) != 1 else ''} by id."
    if len(ids) == 1:
        with transaction.atomic():
            operation = operations.begin(
                kind, actor=actor, note=note, selection=selection, rate_per_second=rate_per_second
            )
            refusals, held = _run_page(operation, ids, move)
            if refusals:
                raise RedriveRefused(f"Dead letter {ids[0]} was left alone: {_ALONE[next(iter(refusals))]}.")
        return operations.finish(operation, held=held, refusals=refusals)
    operation = operations.begin(kind, actor=actor, note=note, selection=selection, rate_per_second=rate_per_second)
    all_refusals, all_held = Counter[str](), 0
    for page in operations.pages(ids):
        with transaction.atomic():
            refusals, held = _run_page(operation, page, move)
        all_refusals, all_held = all_refusals + refusals, all_held + held
    return operations.finish(operation, held=all_held, refusals=all_refusals)


def _run_page(
    operation: Operation, ids: Sequence[int], move: Callable[[Sequence[int], Operation], _Page]
) -> tuple[Counter[str], int]:
    moved = move(ids, operation)
    left = [id for id in ids if id not in moved.letters]
    operations.add(operation, moved=len(moved.letters), refused=len(left))
    operations.ring_on_commit(moved.endpoints)
    return _preview(Operation.Kind(operation.kind), left, lost=True).refusals, moved.held


def _redrive_page(ids: Sequence[int], operation: Operation) -> _Page:
    rows = redrive_rows.redrive(ids, operation.pk, operations.pace(operation))
    operations.ramp_on_commit(Counter(row.endpoint_id for row in rows))
    awake = {row.endpoint_id for row in rows if row.endpoint_state == State.ACTIVE}
    held = sum(row.endpoint_state != State.ACTIVE for row in rows)
    return _Page({row.dead_letter_id for row in rows}, awake, held)


def _discard_page(ids: Sequence[int], operation: Operation) -> _Page:
    return _Page(set(discard_rows.discard(ids, operation.pk)))


def _preview(kind: Operation.Kind, ids: Sequence[int], *, lost: bool = False) -> Preview:
    """Judge rows as they stand. `lost` rows were just refused, so one that looks ready was moved back since."""
    preview = Preview()
    for page in operations.pages(ids):
        rows = DeadLetter.objects.filter(pk__in=page).values_list("resolution", "endpoint__state")
        for resolution, state in rows:
            if why := _refusal(kind, resolution, state) or ("changed meanwhile" if lost else ""):
                preview.refusals[why] += 1
            else:
                preview.ready += 1
                preview.held += kind == Operation.Kind.REDRIVE and state != State.ACTIVE
        if missing := len(page) - len(rows):
            preview.refusals["that does not exist"] += missing
    return preview


def _refusal(kind: Operation.Kind, resolution: str, endpoint_state: str) -> str:
    if resolution != Resolution.OPEN:
        return f"already {resolution}"
    if kind == Operation.Kind.REDRIVE and endpoint_state == State.ARCHIVED:
        return "whose endpoint is archived"
    return ""


def _ids(dead_letters: DeadLetters) -> list[int]:
    rows = dead_letters.values_list("pk", flat=True) if isinstance(dead_letters, QuerySet) else dead_letters
    # Oldest first, and in one order for everybody: two operations on the same rows cannot deadlock.
    return sorted(set(rows))
