"""Prune: delete what has been kept long enough, in short batches with pauses; safe to stop, the next run goes on."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import transaction

from deliveries.conf import conf
from deliveries.transitions.delete import Place, delete_attempts, delete_events

EVENTS_PER_BATCH: Final = 200
ATTEMPTS_PER_BATCH: Final = 1000

REST_SHARE: Final = 1.0
"""A pause as long as the batch before it: publishing keeps at least half of the disk and the locks."""

_BEGINNING: Final = Place(datetime(1970, 1, 1, tzinfo=UTC), "")


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


@dataclass(slots=True)
class Pruned:
    """What a run deleted; events count with their deliveries, attempts and resolved dead letters."""

    events: int = 0
    attempts: int = 0
    is_complete: bool = True


def prune(
    retention: Retention,
    *,
    now: datetime,
    budget_seconds: float | None = None,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Pruned:
    """Delete until nothing old is left or the budget is spent. `now` is aware; `pause` and `clock` are for tests."""
    ends_at = None if budget_seconds is None else clock() + budget_seconds
    pruned = Pruned()
    letters_before = now - timedelta(days=retention.dead_letters)
    events_before = now - timedelta(days=retention.events)
    place: Place | None = _BEGINNING
    while place is not None:
        started = clock()
        with transaction.atomic():
            deleted = delete_events(events_before, letters_before, place, EVENTS_PER_BATCH)
        pruned.events += deleted.events
        place = deleted.place
        if not _rest(started, ends_at, clock, pause):
            pruned.is_complete = False
            return pruned
    attempts_before = now - timedelta(days=retention.attempts)
    while True:
        started = clock()
        count = delete_attempts(attempts_before, ATTEMPTS_PER_BATCH)
        pruned.attempts += count
        if count < ATTEMPTS_PER_BATCH:
            return pruned
        if not _rest(started, ends_at, clock, pause):
            pruned.is_complete = False
            return pruned


def _rest(started: float, ends_at: float | None, clock: Callable[[], float], pause: Callable[[float], None]) -> bool:
    """Leave the database to others for as long as the batch took; False when the budget is spent."""
    now = clock()
    if ends_at is not None and now >= ends_at:
        return False
    pause((now - started) * REST_SHARE)
    return True
