"""Prune: bodies go first, the ledger much later; in short batches with pauses, safe to stop and to run twice."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from inbox import lines
from inbox.conf import conf
from inbox.transitions.prune import forget_bodies, forget_events, forget_fetches, forget_letters, forget_refusals

ROWS_PER_BATCH: Final = 500
"""Rows one statement touches: a few dozen milliseconds."""

REST_SHARE: Final = 1.0
"""A pause as long as the batch before it: the door keeps at least half of the disk and the locks."""


@dataclass(slots=True)
class Pruned:
    """What a run took away, and whether it came to its end."""

    bodies: int = 0
    dead_letters: int = 0
    events: int = 0
    fetches: int = 0
    refusals: int = 0
    is_complete: bool = True


def prune(
    *,
    now: datetime,
    budget_seconds: float | None = None,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Pruned:
    """Go on until nothing old is left or the budget is spent; one batch is always done. `now` is aware."""
    without_body = now - timedelta(days=conf().body_days)
    forgotten = now - timedelta(days=conf().ledger_days)
    ends_at = None if budget_seconds is None else clock() + budget_seconds
    pruned = Pruned()
    # Letters before the events that they hang on; all of them are without a body by then.
    turns: tuple[tuple[str, Callable[[datetime, int], int], datetime], ...] = (
        ("bodies", forget_bodies, without_body),
        ("dead_letters", forget_letters, forgotten),
        ("events", forget_events, forgotten),
        ("fetches", forget_fetches, without_body),
        ("refusals", forget_refusals, forgotten),
    )
    for name, forget, before in turns:
        count = ROWS_PER_BATCH
        while count >= ROWS_PER_BATCH:
            began = clock()
            count = forget(before, ROWS_PER_BATCH)
            setattr(pruned, name, getattr(pruned, name) + count)
            took = clock() - began
            _tell(name, count, took)
            if ends_at is not None and began + took >= ends_at:
                pruned.is_complete = False
                return pruned
            if count >= ROWS_PER_BATCH:
                pause(took * REST_SHARE)
    return pruned


def _tell(kind: str, deleted: int, seconds: float) -> None:
    if deleted:
        batch = {"kind": kind, "deleted": deleted, "has_more": deleted >= ROWS_PER_BATCH}
        lines.PRUNED.say(batch | {"duration_ms": round(seconds * 1000)})
