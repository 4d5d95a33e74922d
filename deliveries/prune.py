"""Prune: delete what has been kept long enough, in short batches with pauses; safe to stop, the next run goes on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, connection, transaction

from deliveries import lines
from deliveries.conf import conf
from deliveries.transitions import delete
from deliveries.transitions.delete import BEGINNING, Page, Place
from deliveries.transitions.old_counts import Cuts, count_attempts, count_dead_letters, count_events

ROWS_PER_BATCH: Final = 300
"""Rows one transaction deletes or judges, about: some ten milliseconds. `python -m bench prune` compares: with 1,000 a
publish that meets a batch takes half as long again."""

REST_SHARE: Final = 1.0
"""A pause as long as the batch before it: publishing keeps at least half of the disk and the locks."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days each kind is kept. Open dead letters, and all that they hang on, are kept for good."""

    events: float
    attempts: float
    dead_letters: float

    @classmethod
    def configured(cls) -> "Retention":
        """What `settings.HOLDFAST` says."""
        return cls(conf().event_days, conf().attempt_days, conf().dead_letter_days)

    def cuts(self, now: datetime) -> Cuts:
        """The moments before which each kind is old."""
        events, letters, attempts = (
            now - timedelta(days=days) for days in (self.events, self.dead_letters, self.attempts)
        )
        return Cuts(events=events, dead_letters=letters, attempts=attempts)


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a run was cut short: the kind it was at, and how far it had come."""

    kind: str
    place: Place


@dataclass(slots=True)
class Pruned:
    """What a run deleted, and where it stopped when its time was up.

    `events` went with their deliveries, attempts and dead letters, which the other two do not count.
    """

    events: int = 0
    dead_letters: int = 0
    attempts: int = 0
    stop: Stop | None = None

    @property
    def is_complete(self) -> bool:
        return self.stop is None


def prune(
    retention: Retention,
    *,
    now: datetime,
    budget_seconds: float | None = None,
    start: Stop | None = None,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Pruned:
    """Delete until nothing old is left or the budget is spent; one batch is always done.

    `now` is aware. `start` is the `stop` of an earlier run; without it everything is looked at. `pause` and `clock` are
    for tests.
    """
    ends_at = None if budget_seconds is None else clock() + budget_seconds
    pruned = Pruned()
    turns = _turns(retention.cuts(now))
    kinds = list(turns)
    at = start or Stop(kinds[0], BEGINNING)
    while True:
        started = clock()
        page = _in_transaction(turns[at.kind], at.place)
        took = clock() - started
        _tell(at.kind, page, took)
        setattr(pruned, at.kind, getattr(pruned, at.kind) + page.deleted)
        later = kinds[kinds.index(at.kind) + 1 :]
        if page.place:
            at = Stop(at.kind, page.place)
        elif later:
            at = Stop(later[0], BEGINNING)
        else:
            return pruned
        if ends_at is not None and started + took >= ends_at:
            pruned.stop = at
            return pruned
        pause(took * REST_SHARE)


def _tell(kind: str, page: Page, seconds: float) -> None:
    if page.deleted:
        batch = {"kind": kind, "deleted": page.deleted, "has_more": page.place is not None}
        lines.PRUNED.say(batch | {"duration_ms": round(seconds * 1000)})


def outlook(retention: Retention, *, now: datetime) -> Pruned:
    """What `prune` would delete now. Reads all that is old."""
    cuts = retention.cuts(now)
    return Pruned(count_events(cuts), count_dead_letters(cuts), count_attempts(cuts))


def _turns(cuts: Cuts) -> Mapping[str, Callable[[Place], Page]]:
    """What deletes a page of each kind. Events first: they take most of the rest along."""
    return {
        "events": lambda place: delete.delete_events(cuts.events, cuts.dead_letters, place, ROWS_PER_BATCH),
        "dead_letters": lambda place: delete.delete_redriven_letters(cuts.dead_letters, place, ROWS_PER_BATCH),
        "attempts": lambda place: delete.delete_attempts(cuts.attempts, place, ROWS_PER_BATCH),
    }


def _in_transaction(turn: Callable[[Place], Page], place: Place) -> Page:
    try:
        return _turn_once(turn, place)
    except IntegrityError:
        # A replay gave one of the events its first delivery for an endpoint while they were deleted. It is seen now.
        return _turn_once(turn, place)


def _turn_once(turn: Callable[[Place], Page], place: Place) -> Page:
    with transaction.atomic():
        with connection.cursor() as cursor:
            # What a crash brings back is deleted by the next run, so nobody has to wait for the disk.
            cursor.execute("SET LOCAL synchronous_commit TO off")
        return turn(place)
