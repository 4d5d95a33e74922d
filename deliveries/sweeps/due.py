"""Ring for endpoints whose deliveries are due: whatever the broker lost, the next attempt happens."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from redis import RedisError

from deliveries import dispatch, pacing
from deliveries.attended import attended, excuse
from deliveries.transitions.claim_in_order import seconds_until_head_due

logger = logging.getLogger(__name__)

OVERDUE_SECONDS: Final = 10.0
"""A wake-up that exists is served sooner than this on a healthy system; older work without one means a lost message."""

# One probe of the due index an endpoint that has pending rows, however many rows it has: each step jumps to the first
# entry of the next endpoint, which is also that endpoint's earliest.
DUE_ENDPOINTS = """
WITH RECURSIVE first AS (
    (SELECT endpoint_id, next_attempt_at FROM deliveries_delivery WHERE status = 'pending'
     ORDER BY endpoint_id, next_attempt_at, id LIMIT 1)
    UNION ALL
    SELECT following.endpoint_id, following.next_attempt_at
    FROM first CROSS JOIN LATERAL (
        SELECT endpoint_id, next_attempt_at FROM deliveries_delivery
        WHERE status = 'pending' AND endpoint_id > first.endpoint_id
        ORDER BY endpoint_id, next_attempt_at, id LIMIT 1
    ) AS following
)
SELECT first.endpoint_id, extract(epoch FROM now() - first.next_attempt_at)::float8, endpoint.ordered
FROM first JOIN endpoints_endpoint endpoint ON endpoint.id = first.endpoint_id AND endpoint.state = 'active'
WHERE first.next_attempt_at <= now()
ORDER BY first.next_attempt_at
"""


@dataclass(frozen=True, slots=True)
class DueSwept:
    """Endpoints with due work, how many were rung now, and how many had overdue work that nobody attended to."""

    due: int
    rung: int
    unattended: int
    oldest_overdue_seconds: float


def sweep() -> DueSwept:
    """Wake every active endpoint that has a due delivery; those whose bell rings already are not rung twice."""
    overdue = _overdue()
    late = [id for id, seconds in overdue.items() if seconds > OVERDUE_SECONDS]
    unattended = set(late) - attended(late)
    rung = dispatch.wake(overdue) if overdue else 0
    if unattended:
        logger.warning(
            "found work nobody rang for: %d endpoints, oldest due %.0f s ago; messages were lost or workers are behind",
            len(unattended),
            max(overdue[id] for id in unattended),
        )
    return DueSwept(len(overdue), rung, len(unattended), max(overdue.values(), default=0.0))


def _overdue() -> dict[int, float]:
    """Endpoints that may be sent to and have due work, with the seconds since the first of it became due."""
    with connection.cursor() as cursor:
        cursor.execute(DUE_ENDPOINTS)
        rows = cursor.fetchall()
    overdue = {id: late for id, late, _ordered in rows}
    held = _held([id for id, _late, ordered in rows if ordered], overdue)
    return {id: late for id, late in overdue.items() if id not in held}


def _held(ordered: Sequence[int], endpoint_ids: Collection[int]) -> dict[int, float]:
    """Endpoints to which nothing may be sent yet, and the seconds that lasts."""
    # An ordered endpoint is due by the head of its sequence only, which may be waiting while what is behind it is due.
    heads = {id: seconds_until_head_due(id) for id in ordered}
    held = {id: seconds or 0.0 for id, seconds in heads.items() if seconds != 0}
    try:
        held |= pacing.waits(endpoint_ids)
        # Their work grows overdue meanwhile, and the alarm after it would be a false one.
        excuse({id: seconds + OVERDUE_SECONDS for id, seconds in held.items()})
    except RedisError as error:
        logger.warning("pacing cannot be asked: %s", error)
    return held
