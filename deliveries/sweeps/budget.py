"""How long a sweep goes on."""

import time
from collections.abc import Callable
from typing import Final

BUDGET_SECONDS: Final = 10.0
"""Well below what a beat entry may wait in its queue; the next run goes on where this one stopped."""

PAGE_ROWS: Final = 500
"""Rows one transaction moves: short enough that no worker waits for the locks."""


def until_short(
    turn: Callable[[int], int],
    *,
    page: int = PAGE_ROWS,
    seconds: float = BUDGET_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Repeat `turn(page)`, which returns the rows it moved, until one comes back short. False when the time ran out."""
    ends_at = clock() + seconds
    while turn(page) >= page:
        if clock() >= ends_at:
            return False
    return True
