"""pending → sending for an ordered endpoint: an unbroken run from the head of its sequence, or nothing.

The head is the oldest delivery that is not final. While it waits for a retry, is in flight elsewhere, or lies behind an
open dead letter that blocks, nothing behind it may go.
"""

from uuid import uuid4

from django.db import connection

from deliveries.transitions.claim import Claimed, Wish, claimed

# Deliveries of one endpoint get their ids in sequence (publishing takes a lock for ordered endpoints), so the id is the
# order. Rows are locked one by one in that order and not skipped: a locked one ends the run by its changed state.
_CLAIM_IN_ORDER = """
WITH unfinished AS (
    SELECT id, status = 'pending' AND next_attempt_at <= now() AS is_due
    FROM deliveries_delivery
    WHERE endpoint_id = %(endpoint)s AND status IN ('pending', 'sending')
    ORDER BY id LIMIT %(rows)s
), run AS (
    SELECT id FROM (SELECT id, bool_and(is_due) OVER (ORDER BY id) AS is_unbroken FROM unfinished) AS judged
    WHERE is_unbroken
), taken AS (
    UPDATE deliveries_delivery delivery
    SET status = 'sending', attempt_count = attempt_count + 1, next_attempt_at = NULL,
        lease_token = %(token)s, lease_expires_at = now() + make_interval(secs => %(lease)s)
    FROM run JOIN endpoints_endpoint endpoint ON endpoint.id = %(endpoint)s AND endpoint.state = 'active'
    WHERE delivery.id = run.id AND delivery.status = 'pending'
      AND NOT (endpoint.dead_letter_blocks AND EXISTS (
          SELECT FROM deliveries_deadletter letter
          WHERE letter.endpoint_id = endpoint.id AND letter.resolution = 'open' AND letter.delivery_id < delivery.id))
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, delivery.attempt_count,
              delivery.attempt_count - delivery.budget_offset, delivery.deadline_at, now(),
              extract(epoch FROM now() - delivery.created_at)::float8
)
SELECT taken.*, event.body, event.type, event.tenant, event.traceparent
FROM taken JOIN deliveries_event event ON event.id = taken.event_id ORDER BY taken.id
"""

_HEAD_DUE = """
SELECT extract(epoch FROM head.next_attempt_at - now())::float8
FROM (
    SELECT id, next_attempt_at FROM deliveries_delivery
    WHERE endpoint_id = %(endpoint)s AND status IN ('pending', 'sending') ORDER BY id LIMIT 1
) AS head
JOIN endpoints_endpoint endpoint ON endpoint.id = %(endpoint)s
WHERE head.next_attempt_at IS NOT NULL AND NOT (endpoint.dead_letter_blocks AND EXISTS (
    SELECT FROM deliveries_deadletter letter
    WHERE letter.endpoint_id = endpoint.id AND letter.resolution = 'open' AND letter.delivery_id < head.id))
"""


def claim_in_order(endpoint_id: int, wish: Wish) -> list[Claimed]:
    """Take the next deliveries in sequence, to be sent one after the other; none while the head may not go."""
    token = uuid4()
    asked: dict[str, int | float | str] = {
        "endpoint": endpoint_id,
        "rows": wish.rows,
        "lease": float(wish.lease_seconds),
        "token": str(token),
    }
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM_IN_ORDER, asked)
        return [claimed(row, token) for row in cursor.fetchall()]


def seconds_until_head_due(endpoint_id: int) -> float | None:
    """Seconds until the head may go (0 when it is overdue); None when nothing waits or something blocks the way."""
    with connection.cursor() as cursor:
        cursor.execute(_HEAD_DUE, {"endpoint": endpoint_id})
        row = cursor.fetchone()
        return None if row is None else max(row[0], 0.0)
