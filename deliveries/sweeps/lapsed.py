"""Take back deliveries whose worker died: their lease has run out."""

import logging
from dataclasses import dataclass

from deliveries import dispatch
from deliveries.sweeps.budget import PAGE_ROWS, until_short
from deliveries.transitions.lapse import lapse
from deliveries.watch import heartbeats

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LapsedSwept:
    """Leases that ran out, the dead letters among them, and whether all were found within the time."""

    lapsed: int = 0
    dead: int = 0
    is_complete: bool = True


def sweep(page: int = PAGE_ROWS) -> LapsedSwept:
    """Page by page until none is left or the time is up. The due sweep rings for those that go on, after their wait."""
    swept = LapsedSwept()

    def turn(size: int) -> int:
        moved = lapse(size)
        dispatch.announce(moved.dead_letter_ids)
        swept.lapsed += moved.count
        swept.dead += len(moved.dead_letter_ids)
        return moved.count

    swept.is_complete = until_short(turn, page=page)
    if swept.lapsed:
        logger.warning("%d leases ran out, %d of their deliveries are dead: workers died", swept.lapsed, swept.dead)
    heartbeats.note("lapsed")
    return swept
