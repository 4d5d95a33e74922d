"""Bring up to date what a scrape reads, so that it need not count: the totals, and the census of what waits."""

from dataclasses import dataclass

from deliveries.transitions.close import close_minutes
from deliveries.watch import census, heartbeats


@dataclass(slots=True)
class FiguresSwept:
    """Steps in which minutes were closed, and how long the count of what waits took."""

    closed: int = 0
    counting_seconds: float = 0.0


def sweep() -> FiguresSwept:
    """Close what has ended, count what waits."""
    closed = close_minutes()
    taken = census.take()
    heartbeats.note("figures")
    return FiguresSwept(closed, taken.took_seconds)
