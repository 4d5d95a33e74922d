"""Ring for endpoints whose deliveries are due: whatever the broker lost, the next attempt happens."""

import logging
from dataclasses import dataclass
from typing import Final

from django.db import connection

from deliveries import dispatch
from deliveries.attended import attended

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
SELECT first.endpoint_id, extract(epoch FROM now() - first.next_attempt_at)::float8
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
    with connection.cursor() as cursor:
        cursor.execute(DUE_ENDPOINTS)
        overdue: dict[int, float] = dict(cursor.fetchall())
    late = [id for id, seconds in overdue.items() if seconds > OVERDUE_SECONDS]
    unattended = set(late) - attended(late)
    rung = dispatch.wake(overdue) if overdue else 0
    if unattended:
        logger.warning(
            "found work nobody rang for: %d endpoints, oldest due %.0f s ago; the broker may have lost messages",
            len(unattended),
            max(overdue[id] for id in unattended),
        )
    return DueSwept(len(overdue), rung, len(unattended), max(overdue.values(), default=0.0))
