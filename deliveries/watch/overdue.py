"""Endpoints that may be sent to now and have due work, found by one probe of the due index each."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection
from redis import RedisError

from deliveries import pacing
from deliveries.transitions.claim_in_order import seconds_until_head_due

logger = logging.getLogger(__name__)

# However many rows an endpoint has: each step jumps to the first entry of the next endpoint, which is also that
# endpoint's earliest.
DUE_ENDPOINTS: Final = """
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
class Overdue:
    """Endpoints with due work, by id.

    `late`: seconds since the oldest due delivery of those that may be sent to now, longest first. `held`: seconds for
    which nothing may be sent to the others (an open circuit, a Retry-After, an ordered one's head that waits).
    """

    late: dict[int, float]
    held: dict[int, float]


def overdue_endpoints(*, ask_pacing: bool = True) -> Overdue:
    """Look at the active endpoints. No circuit and no Retry-After counts while Redis is away, or is not to be asked."""
    with connection.cursor() as cursor:
        cursor.execute(DUE_ENDPOINTS)
        rows = cursor.fetchall()
    # An ordered endpoint is due by the head of its sequence only, which may be waiting while what is behind it is due.
    heads = {id: seconds_until_head_due(id) for id, _late, ordered in rows if ordered}
    held = {id: seconds or 0.0 for id, seconds in heads.items() if seconds != 0}
    if ask_pacing:
        held |= _held_by_pacing([id for id, _late, _ordered in rows])
    return Overdue({id: late for id, late, _ordered in rows if id not in held}, held)


def _held_by_pacing(endpoint_ids: Sequence[int]) -> dict[int, float]:
    try:
        return pacing.waits(endpoint_ids)
    except RedisError as error:
        logger.warning("pacing cannot be asked: %s", error)
        return {}
