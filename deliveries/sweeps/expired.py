"""Bury what can no longer be delivered: past its deadline, or waiting for an endpoint that was archived."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from deliveries import dispatch
from deliveries.sweeps.budget import PAGE_ROWS, until_short
from deliveries.transitions.expire import bury_archived, expire
from deliveries.watch import heartbeats

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class ExpiredSwept:
    """Deliveries that became dead letters of each class, and whether all were found within the time."""

    expired: int = 0
    archived: int = 0
    is_complete: bool = True


def sweep(page: int = PAGE_ROWS) -> ExpiredSwept:
    """Both kinds, page by page, until none is left or the time is up."""
    swept = ExpiredSwept()

    def buried(move: Callable[[int], list[int]], size: int) -> int:
        letters = move(size)
        dispatch.announce(letters)
        return len(letters)

    def turn_expired(size: int) -> int:
        swept.expired += (count := buried(expire, size))
        return count

    def turn_archived(size: int) -> int:
        swept.archived += (count := buried(bury_archived, size))
        return count

    done = [until_short(turn, page=page) for turn in (turn_expired, turn_archived)]
    swept.is_complete = all(done)
    if swept.expired or swept.archived:
        logger.warning("%d deliveries expired, %d had an archived endpoint", swept.expired, swept.archived)
    heartbeats.note("expired")
    return swept
