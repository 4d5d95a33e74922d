"""A count of what waits, taken every few seconds by a sweep and shared through Redis.

Counting reads as many rows as there are, so whoever scrapes or looks often must not count each time. A census says how
old it is. When none is fresh, because the sweep or Redis is away, whoever asks takes one, which may take a second.
"""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.db import connection, transaction
from redis import RedisError

from deliveries.pacing import circuits
from deliveries.redis_client import redis_client
from deliveries.watch.attended import attended
from deliveries.watch.overdue import Overdue, overdue_endpoints
from deliveries.watch.survey import BOUNDED, PATIENCE_SECONDS

logger = logging.getLogger(__name__)

COUNTED: Final = 1_000_000
"""Counts stop here."""

FRESH_SECONDS: Final = 30.0
"""Three times what the sweep takes to come by."""

KEY: Final = "holdfast:census"
KEEP_SECONDS: Final = 3_600

_COUNTS: Final = """
SELECT (SELECT count(*) FROM (SELECT FROM deliveries_delivery WHERE status = 'pending' LIMIT %(most)s) AS counted),
       (SELECT count(*) FROM (
            SELECT FROM endpoints_endpoint endpoint CROSS JOIN LATERAL (
                SELECT FROM deliveries_delivery
                WHERE status = 'pending' AND endpoint_id = endpoint.id AND next_attempt_at <= now()
            ) AS due WHERE endpoint.state = 'active' LIMIT %(most)s) AS counted),
       (SELECT count(*) FROM (SELECT FROM deliveries_delivery WHERE status = 'sending' LIMIT %(most)s) AS counted),
       (SELECT extract(epoch FROM now() - min(lease_expires_at))::float8 FROM deliveries_delivery
        WHERE status = 'sending' AND lease_expires_at < now()),
       (SELECT extract(epoch FROM now() - created_at)::float8 FROM deliveries_deadletter
        WHERE resolution = 'open' ORDER BY id LIMIT 1)
"""
_LETTERS: Final = """
SELECT failure_class, count(*) FROM (
    SELECT failure_class FROM deliveries_deadletter WHERE resolution = 'open' LIMIT %(most)s) AS open
GROUP BY failure_class
"""
_STATES: Final = "SELECT state, count(*) FROM endpoints_endpoint GROUP BY state"
_LEVELS: Final = """
SELECT coalesce(health.level, 'unknown'), count(*)
FROM endpoints_endpoint endpoint LEFT JOIN deliveries_endpointhealth health ON health.endpoint_id = endpoint.id
WHERE endpoint.state = 'active' GROUP BY 1
"""
_ACTIVE: Final = "SELECT id FROM endpoints_endpoint WHERE state = 'active'"


@dataclass(slots=True)
class Census:
    """Counts, which stop at COUNTED, and ages in seconds, None where there is nothing.

    `due` counts what may be attempted as far as its time and its endpoint's state go. `oldest_due_seconds` is of the
    endpoints that may be sent to now; the others of those with due work are `endpoints_held`. `age_seconds`: since it
    was taken. `levels` and `circuits` are of active endpoints.
    """

    pending: int = 0
    due: int = 0
    sending: int = 0
    oldest_lapsed_lease_seconds: float | None = None
    oldest_dead_letter_seconds: float | None = None
    dead_letters: dict[str, int] = field(default_factory=dict)
    endpoints: dict[str, int] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    circuits: dict[str, int] = field(default_factory=dict)
    endpoints_due: int = 0
    endpoints_held: int = 0
    oldest_due_seconds: float | None = None
    oldest_unattended_seconds: float | None = None
    took_seconds: float = 0.0
    age_seconds: float = 0.0


def latest(clock: Callable[[], float] = time.monotonic) -> Census:
    """A fresh one, of whoever took it, else one taken now. Raises a database error when that is not possible."""
    try:
        found = _shared()
    except RedisError:
        return _taken(clock, ask_redis=False)
    return found if found and found.age_seconds < FRESH_SECONDS else take(clock)


def take(clock: Callable[[], float] = time.monotonic) -> Census:
    """Count now, and share it."""
    try:
        census = _taken(clock, ask_redis=True)
        redis_client().set(KEY, json.dumps(asdict(census)), ex=KEEP_SECONDS)
    except RedisError as error:
        logger.warning("a census without Redis is not shared: %s", error)
        return _taken(clock, ask_redis=False)
    return census


def _shared() -> Census | None:
    """The last one; the time its key has left says how old it is, by no clock but Redis's."""
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.get(KEY)
    pipeline.pttl(KEY)
    said, left_ms = pipeline.execute()
    if said is None:
        return None
    fields: dict[str, Any] = json.loads(said)
    return Census(**fields | {"age_seconds": max(KEEP_SECONDS - left_ms / 1000, 0.0)})


def _taken(clock: Callable[[], float], *, ask_redis: bool) -> Census:
    began = clock()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BOUNDED, [f"{PATIENCE_SECONDS * 1000:.0f}ms"])
        found = overdue_endpoints(ask_pacing=ask_redis)
        cursor.execute(_COUNTS, {"most": COUNTED})
        census = Census(*cursor.fetchone())
        for name, statement in (("dead_letters", _LETTERS), ("endpoints", _STATES), ("levels", _LEVELS)):
            cursor.execute(statement, {"most": COUNTED})
            setattr(census, name, dict(cursor.fetchall()))
        cursor.execute(_ACTIVE)
        active = [id for (id,) in cursor.fetchall()]
    _add_due(census, found, ask_redis)
    census.circuits = circuits(active) if ask_redis else {}
    census.took_seconds = clock() - began
    return census


def _add_due(census: Census, found: Overdue, ask_redis: bool) -> None:
    late = found.late
    unattended = set(late) - attended(list(late)) if ask_redis else set()
    census.endpoints_due = len(late) + len(found.held)
    census.endpoints_held = len(found.held)
    census.oldest_due_seconds = max(late.values(), default=None)
    census.oldest_unattended_seconds = max((late[id] for id in unattended), default=None)
