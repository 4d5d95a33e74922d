"""Whether the pipeline moves: figures in, sentences about what is wrong out. Pure.

Processes that are up prove nothing. What counts is that due work does not get old, that the sweep runs, and that
somebody works each queue.
"""

from dataclasses import dataclass
from typing import Final

OVERDUE_SECONDS: Final = 60.0
"""Due work that may be sent and is older than this is not being moved; everything heals within this time."""

SWEEP_SILENT_SECONDS: Final = 30.0
"""The due sweep runs every two seconds; after this long without one nobody repairs what the broker lost."""

LAPSED_SECONDS: Final = 60.0
"""A lease that lapsed this long ago should have been taken back many times over."""

NEEDED_QUEUES: Final = ("deliveries", "deliveries.slow", "dead_letters", "upkeep")


@dataclass(frozen=True, slots=True)
class Picture:
    """The figures a verdict needs. Ages are seconds; None where there is nothing of the kind.

    Due work counts only for endpoints to which something may be sent now: what waits for a circuit's probe, a
    Retry-After or a paused endpoint is not stuck. Nor is a backlog that a limit lets out slowly: `unattended` is the
    due work for which no wake-up waits, no timer is set and no worker drains; `recorded` is the last result of any.
    """

    database: bool = True
    redis: bool = True
    oldest_due_seconds: float | None = None
    unattended_seconds: float | None = None
    recorded_seconds: float | None = None
    oldest_lapsed_seconds: float | None = None
    sweep_seconds: float | None = None
    worked_queues: frozenset[str] = frozenset()


def problems(picture: Picture) -> list[str]:
    """One sentence for each thing that is wrong; empty when work moves."""
    if not picture.database:
        return ["The database does not answer."]
    found = []
    if not picture.redis:
        found.append("Redis does not answer: nothing is woken and nothing is sent until it does.")
    if (picture.unattended_seconds or 0) > OVERDUE_SECONDS:
        found.append(f"A due delivery has waited {picture.unattended_seconds:.0f} s and nothing attends to it.")
    if (picture.oldest_due_seconds or 0) > OVERDUE_SECONDS and _is_old(picture.recorded_seconds):
        found.append(
            f"The oldest due delivery has waited {picture.oldest_due_seconds:.0f} s and no result was recorded for "
            f"{OVERDUE_SECONDS:.0f} s: work is not moving."
        )
    if (picture.oldest_lapsed_seconds or 0) > LAPSED_SECONDS:
        found.append(f"A lease lapsed {picture.oldest_lapsed_seconds:.0f} s ago and was not taken back.")
    if picture.redis:
        found += _silence(picture)
    return found


def _is_old(recorded_seconds: float | None) -> bool:
    return recorded_seconds is None or recorded_seconds > OVERDUE_SECONDS


def _silence(picture: Picture) -> list[str]:
    found = []
    if picture.sweep_seconds is None:
        found.append("The due sweep has never run: is beat up, and a worker for the queue upkeep?")
    elif picture.sweep_seconds > SWEEP_SILENT_SECONDS:
        found.append(f"The due sweep last ran {picture.sweep_seconds:.0f} s ago: beat or the upkeep worker is down.")
    unworked = [name for name in NEEDED_QUEUES if name not in picture.worked_queues]
    if unworked:
        found.append(f"No worker was seen for {', '.join(unworked)}.")
    return found
