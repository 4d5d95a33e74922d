"""Ring for endpoints whose deliveries are due: whatever the broker lost, the next attempt happens."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from redis import RedisError

from deliveries import dispatch
from deliveries.watch import heartbeats
from deliveries.watch.attended import attended, excuse
from deliveries.watch.overdue import overdue_endpoints

logger = logging.getLogger(__name__)

OVERDUE_SECONDS: Final = 10.0
"""A wake-up that exists is served sooner than this on a healthy system; older work without one means a lost message."""


@dataclass(frozen=True, slots=True)
class DueSwept:
    """Endpoints with due work, how many were rung now, and how many had overdue work that nobody attended to."""

    due: int
    rung: int
    unattended: int
    oldest_overdue_seconds: float


def sweep() -> DueSwept:
    """Wake every active endpoint that has a due delivery; those whose bell rings already are not rung twice."""
    found = overdue_endpoints()
    _excuse(found.held)
    overdue = found.late
    late = [id for id, seconds in overdue.items() if seconds > OVERDUE_SECONDS]
    unattended = set(late) - attended(late)
    rung = dispatch.wake(overdue) if overdue else 0
    if unattended:
        logger.warning(
            "found work nobody rang for: %d endpoints, oldest due %.0f s ago; messages were lost or workers are behind",
            len(unattended),
            max(overdue[id] for id in unattended),
        )
    heartbeats.note("due")
    return DueSwept(len(overdue), rung, len(unattended), max(overdue.values(), default=0.0))


def _excuse(held: Mapping[int, float]) -> None:
    """What is held grows overdue meanwhile, and the alarm right after it would be a false one."""
    try:
        excuse({id: seconds + OVERDUE_SECONDS for id, seconds in held.items()})
    except RedisError as error:
        logger.warning("held endpoints cannot be excused: %s", error)
