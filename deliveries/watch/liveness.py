"""Whether the pipeline moves: figures in, sentences about what is wrong out. Pure.

Processes that are up prove nothing. What counts is that due work does not get old, that the sweep runs, and that
somebody works each queue.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

OVERDUE_SECONDS: Final = 60.0
"""Due work that may be sent and is older than this is not being moved; everything heals within this time."""

SWEEP_SILENT_SECONDS: Final = 30.0
"""The due sweep runs every two seconds; after this long without one nobody repairs what the broker lost."""

LAPSED_SECONDS: Final = 60.0
"""A lease that lapsed this long ago should have been taken back many times over."""

STUCK_SECONDS: Final = 300.0
"""No task takes this long: a drain hands over after its budget of 20 s, results that the database refuses are kept for
240 s at most, and from the broker's visibility timeout on the message is given to somebody else."""

NEEDED_QUEUES: Final = ("deliveries", "deliveries.slow", "dead_letters", "upkeep")


@dataclass(frozen=True, slots=True)
class Picture:
    """The figures a verdict needs. Ages are seconds; None where there is nothing of the kind.

    Due work counts only for endpoints to which something may be sent now: what waits for a circuit's probe, a
    Retry-After or a paused endpoint is not stuck. Nor is a backlog that a limit lets out slowly: `unattended` is the
    due work for which no wake-up waits, no timer is set and no worker drains; `recorded` is the last result of any;
    `busy` is the longest that a worker has been at one task.
    """

    database: bool = True
    redis: bool = True
    broker: bool = True
    oldest_due_seconds: float | None = None
    unattended_seconds: float | None = None
    recorded_seconds: float | None = None
    oldest_lapsed_seconds: float | None = None
    sweep_seconds: float | None = None
    busy_seconds: float | None = None
    worked_queues: frozenset[str] = frozenset()


def problems(picture: Picture) -> list[str]:
    """One sentence for each thing that is wrong; empty when work moves.

    What cannot be known while a service is away is not judged: the service is the problem then.
    """
    found = list(_absences(picture))
    if picture.database and picture.redis:
        found += _standstill(picture)
    if picture.database and _exceeds(picture.oldest_lapsed_seconds, LAPSED_SECONDS):
        found.append(f"A lease lapsed {picture.oldest_lapsed_seconds:.0f} s ago and was not taken back.")
    if picture.redis:
        found += _silence(picture)
    return found


def _absences(picture: Picture) -> Iterator[str]:
    if not picture.database:
        yield "The database does not answer: nothing is published and nothing is sent."
    if not picture.redis:
        yield "Redis does not answer: nothing is woken and nothing is sent until it does."
    if not picture.broker:
        yield "The broker does not answer: no wake-up reaches a worker."


def _standstill(picture: Picture) -> Iterator[str]:
    if _exceeds(picture.unattended_seconds, OVERDUE_SECONDS):
        yield f"A due delivery has waited {picture.unattended_seconds:.0f} s and nothing attends to it."
    is_silent = picture.recorded_seconds is None or picture.recorded_seconds > OVERDUE_SECONDS
    if _exceeds(picture.oldest_due_seconds, OVERDUE_SECONDS) and is_silent:
        yield (
            f"The oldest due delivery has waited {picture.oldest_due_seconds:.0f} s and no result was recorded for "
            f"{OVERDUE_SECONDS:.0f} s: work is not moving."
        )


def _silence(picture: Picture) -> Iterator[str]:
    if picture.sweep_seconds is None:
        yield "The due sweep has never run: is beat up, and a worker for the queue upkeep?"
    elif picture.sweep_seconds > SWEEP_SILENT_SECONDS:
        yield f"The due sweep last ran {picture.sweep_seconds:.0f} s ago: beat or the upkeep worker is down."
    if unworked := [name for name in NEEDED_QUEUES if name not in picture.worked_queues]:
        yield f"No worker was seen for {', '.join(unworked)}."
    if _exceeds(picture.busy_seconds, STUCK_SECONDS):
        yield f"A worker has been at one task for {picture.busy_seconds:.0f} s: it is stuck."


def _exceeds(seconds: float | None, most: float) -> bool:
    return seconds is not None and seconds > most
