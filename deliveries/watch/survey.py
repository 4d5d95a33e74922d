"""A survey of the whole pipeline: the figures, and the verdict on them. For people and probes."""

import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.db import Error as DatabaseFault
from django.db import connection, transaction
from redis import RedisError

from deliveries.watch import heartbeats
from deliveries.watch.attended import attended
from deliveries.watch.liveness import Picture, problems
from deliveries.watch.overdue import overdue_endpoints
from deliveries.watch.queues import depths

logger = logging.getLogger(__name__)

COUNTED: Final = 100_000
"""Counts stop here: a look must not cost more than the work."""

PATIENCE_SECONDS: Final = 3.0
"""A service that takes longer to answer a question counts as away: whoever probes does not wait for ever."""

# A backlog that is gone lives on in the planner's statistics for a while: it would expect to find rows soon and read a
# whole table of finished ones instead of an index with nothing in it.
BOUNDED: Final = """
SELECT set_config('statement_timeout', %s, true), set_config('enable_seqscan', 'off', true),
       set_config('enable_bitmapscan', 'off', true)
"""
_FIGURES: Final = """
SELECT (SELECT count(*) FROM (SELECT FROM deliveries_delivery WHERE status = 'pending' LIMIT %(most)s) AS counted),
       (SELECT count(*) FROM (SELECT FROM deliveries_delivery WHERE status = 'sending' LIMIT %(most)s) AS counted),
       (SELECT extract(epoch FROM now() - min(lease_expires_at))::float8 FROM deliveries_delivery
        WHERE status = 'sending' AND lease_expires_at < now()),
       (SELECT count(*) FROM (SELECT FROM deliveries_deadletter WHERE resolution = 'open' LIMIT %(most)s) AS counted),
       (SELECT extract(epoch FROM now() - created_at)::float8 FROM deliveries_deadletter
        WHERE resolution = 'open' ORDER BY id LIMIT 1)
"""
_ENDPOINTS: Final = "SELECT state, count(*) FROM endpoints_endpoint GROUP BY state"


@dataclass(slots=True)
class Survey:
    """What is known at this moment. Ages are seconds, None where there is nothing; counts stop at COUNTED.

    `database`, `redis` and `broker` say which of them answers; what it would have told is missing where one does not.
    `seconds_since` says when each sweep last ran (by its duty) and when a result was last `recorded`.
    """

    problems: list[str] = field(default_factory=list)
    database: bool = True
    redis: bool = True
    broker: bool = True
    oldest_due_seconds: float | None = None
    oldest_unattended_seconds: float | None = None
    endpoints_with_due_work: int = 0
    pending: int = 0
    sending: int = 0
    oldest_lapsed_lease_seconds: float | None = None
    open_dead_letters: int = 0
    oldest_open_dead_letter_seconds: float | None = None
    endpoints: dict[str, int] = field(default_factory=dict)
    queue_depths: dict[str, int] = field(default_factory=dict)
    seconds_since: dict[str, float] = field(default_factory=dict)
    workers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_healthy(self) -> bool:
        return not self.problems


def survey() -> Survey:
    """Look at everything; never raises for a service that does not answer, which is a finding."""
    found = Survey()
    found.redis = _try(lambda: _read_signs(found), RedisError)
    # A Redis that is away would be waited for again at every question.
    found.database = _try(lambda: _read_rows(found), DatabaseFault)
    found.broker = _try(lambda: _read_queues(found), RedisError)
    found.problems = problems(
        Picture(
            database=found.database,
            redis=found.redis,
            broker=found.broker,
            oldest_due_seconds=found.oldest_due_seconds,
            oldest_lapsed_seconds=found.oldest_lapsed_lease_seconds,
            unattended_seconds=found.oldest_unattended_seconds,
            recorded_seconds=found.seconds_since.get("recorded"),
            sweep_seconds=found.seconds_since.get("due"),
            busy_seconds=max((worker["busy_seconds"] or 0.0 for worker in found.workers), default=None),
            worked_queues=frozenset(queue for worker in found.workers for queue in worker["queues"]),
        )
    )
    return found


def _try(read: Callable[[], None], *faults: type[Exception]) -> bool:
    try:
        read()
    except faults as fault:
        # Of the class only: the message may name hosts and users.
        logger.warning("the survey got no answer: %s", type(fault).__name__)
        return False
    return True


def _read_rows(found: Survey) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BOUNDED, [f"{PATIENCE_SECONDS * 1000:.0f}ms"])
        overdue = overdue_endpoints(ask_pacing=found.redis).late
        cursor.execute(_FIGURES, {"most": COUNTED})
        (
            found.pending,
            found.sending,
            found.oldest_lapsed_lease_seconds,
            found.open_dead_letters,
            found.oldest_open_dead_letter_seconds,
        ) = cursor.fetchone()
        cursor.execute(_ENDPOINTS)
        found.endpoints = dict(cursor.fetchall())
    found.endpoints_with_due_work = len(overdue)
    found.oldest_due_seconds = max(overdue.values(), default=None)
    unattended = set(overdue) - attended(list(overdue)) if found.redis else set()
    found.oldest_unattended_seconds = max((overdue[id] for id in unattended), default=None)


def _read_signs(found: Survey) -> None:
    found.seconds_since = heartbeats.ages()
    found.workers = [asdict(worker) for worker in heartbeats.workers()]


def _read_queues(found: Survey) -> None:
    found.queue_depths = depths()
