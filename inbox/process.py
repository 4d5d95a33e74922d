"""Processing: claim an event, have its handler run, record how it ended; as many as the time allows."""

import random
import threading
import time
from collections.abc import Callable
from typing import Final

from inbox import attempt, dispatch, handlers
from inbox.conf import conf
from inbox.transitions.claim import claim

stopping: Final = threading.Event()
"""Set when the worker is told to stop: the event at hand is finished, no other is begun."""


def process(
    source_id: int,
    *,
    rng: random.Random | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Process the source's due events one by one until none is left or the time is up; returns how many.

    More tasks join while more is due and the source's concurrency allows, each called by the one before it. One that
    runs out of time calls the next.
    """
    dispatch.silence(source_id)
    ends_at = clock() + conf().task_budget_seconds
    rng = rng or random.Random()
    done = 0
    while not stopping.is_set():
        if clock() >= ends_at:
            dispatch.wake([source_id])
            break
        claimed = claim(source_id, handlers.longest_lease_seconds)
        if claimed is None:
            break
        if claimed.has_more and not done:
            # Once is enough: whoever comes calls the next in turn, and what arrives from now on rings by itself.
            dispatch.wake([source_id])
        attempt.run(claimed, rng)
        done += 1
    return done
