"""Endpoints that may be sent to now and have due work, found by one probe of the due index each."""

from typing import Final

from django.db import connection
from redis import RedisError

from deliveries import pacing
from deliveries.transitions.claim_in_order import seconds_until_head_due

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


def overdue_endpoints() -> dict[int, float]:
    """Endpoint id -> seconds since its oldest due delivery became due, longest first.

    Left out: endpoints that hold their deliveries, that pacing holds (an open circuit, a Retry-After), and ordered ones
    whose head is not due. While Redis is away nothing counts as held.
    """
    with connection.cursor() as cursor:
        cursor.execute(DUE_ENDPOINTS)
        rows = cursor.fetchall()
    overdue = {id: late for id, late, ordered in rows if not ordered or seconds_until_head_due(id) == 0}
    try:
        held = pacing.waits(overdue)
    except RedisError:
        held = {}
    return {id: late for id, late in overdue.items() if id not in held}
