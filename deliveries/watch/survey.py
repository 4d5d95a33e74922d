"""A survey of the whole pipeline: the figures, and the verdict on them. For people and probes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from celery import current_app
from django.db import DatabaseError, connection
from kombu.exceptions import KombuError
from redis import RedisError

from deliveries.watch import heartbeats
from deliveries.watch.attended import attended
from deliveries.watch.liveness import Picture, problems
from deliveries.watch.overdue import overdue_endpoints

COUNTED: Final = 1_000_000
"""Counts stop here: a look must not cost more than the work."""

QUEUES: Final = ("deliveries", "deliveries.slow", "dead_letters", "inbox", "upkeep")

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

Read = TypeVar("Read")


@dataclass(slots=True)
class Survey:
    """What is known at this moment. Ages are seconds, None where there is nothing; counts stop at COUNTED.

    `seconds_since` says when each sweep last ran (by its duty) and when a result was last `recorded`.
    """

    problems: list[str] = field(default_factory=list)
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
    database = _try(lambda: _read_rows(found), DatabaseError)
    redis = _try(lambda: _read_signs(found), RedisError) and _try(lambda: _read_queues(found), KombuError, OSError)
    found.problems = problems(
        Picture(
            database=database,
            redis=redis,
            oldest_due_seconds=found.oldest_due_seconds,
            oldest_lapsed_seconds=found.oldest_lapsed_lease_seconds,
            unattended_seconds=found.oldest_unattended_seconds,
            recorded_seconds=found.seconds_since.get("recorded"),
            sweep_seconds=found.seconds_since.get("due"),
            worked_queues=frozenset(queue for worker in found.workers for queue in worker["queues"]),
        )
    )
    return found


def _try(read: Callable[[], None], *faults: type[Exception]) -> bool:
    try:
        read()
    except faults:
        return False
    return True


def _read_rows(found: Survey) -> None:
    overdue = overdue_endpoints().late
    found.endpoints_with_due_work = len(overdue)
    found.oldest_due_seconds = max(overdue.values(), default=None)
    unattended = set(overdue) - attended(list(overdue))
    found.oldest_unattended_seconds = max((overdue[id] for id in unattended), default=None)
    with connection.cursor() as cursor:
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


def _read_signs(found: Survey) -> None:
    found.seconds_since = heartbeats.ages()
    found.workers = [
        {"name": worker.name, "queues": list(worker.queues), "seen_seconds_ago": worker.seen_seconds_ago}
        for worker in heartbeats.workers()
    ]


def _read_queues(found: Survey) -> None:
    with current_app.connection_for_read() as broker:
        broker.ensure_connection(max_retries=1, timeout=2)
        channel = broker.default_channel
        found.queue_depths = {name: int(channel._size(name)) for name in QUEUES}
