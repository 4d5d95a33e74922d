"""Take back events whose worker died: their lease has run out."""

import logging
from dataclasses import dataclass
from random import Random
from typing import Final

from inbox import signs
from inbox.transitions.lapse import lapse

logger = logging.getLogger(__name__)

PAGE_ROWS: Final = 200
PAGES: Final = 20
"""A bound; the next run, seconds later, goes on."""


@dataclass(slots=True)
class LapsedSwept:
    """Leases that ran out, and the dead letters among them."""

    lapsed: int = 0
    dead: int = 0


def sweep(rng: Random | None = None) -> LapsedSwept:
    """Page by page. The due sweep rings for those that go on, after their wait."""
    swept = LapsedSwept()
    rng = rng or Random()
    for _ in range(PAGES):
        moved = lapse(PAGE_ROWS, rng)
        swept.lapsed += moved.count
        swept.dead += moved.dead
        if moved.count < PAGE_ROWS:
            break
    if swept.lapsed:
        logger.warning("%d leases of received events ran out, %d of them are dead letters", swept.lapsed, swept.dead)
    signs.note("lapsed")
    return swept
