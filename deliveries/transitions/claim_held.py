"""pending → sending for an endpoint that its health disabled: one of the deliveries it holds, as a probe.

Of an ordered endpoint it is the head of the sequence, or nothing while that may not go. Of any other it is the one that
has been due longest: a failed probe puts it at the end, so that one poisonous event does not fail them all.
"""

from datetime import datetime
from typing import Final
from uuid import uuid4

from django.db import connection

from deliveries.transitions.claim import Claimed, claimed
from deliveries.transitions.probes import Begun

_LONGEST_DUE: Final = """
WITH chosen AS (
    SELECT id FROM deliveries_delivery
    WHERE endpoint_id = %(endpoint)s AND status = 'pending' AND deadline_at > now()
    ORDER BY next_attempt_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
)
"""

_HEAD: Final = """
WITH head AS (
    SELECT id, status, deadline_at FROM deliveries_delivery
    WHERE endpoint_id = %(endpoint)s AND status IN ('pending', 'sending') ORDER BY id LIMIT 1
), chosen AS (
    SELECT head.id FROM head JOIN endpoints_endpoint endpoint ON endpoint.id = %(endpoint)s
    WHERE head.status = 'pending' AND head.deadline_at > now() AND NOT (endpoint.dead_letter_blocks AND EXISTS (
        SELECT FROM deliveries_deadletter letter
        WHERE letter.endpoint_id = endpoint.id AND letter.resolution = 'open' AND letter.delivery_id < head.id))
)
"""

# The attempt counts before it is made, as everywhere: what kills its worker must spend its budget.
_TAKE: Final = """
, taken AS (
    UPDATE deliveries_delivery delivery
    SET status = 'sending', attempt_count = attempt_count + 1, next_attempt_at = NULL,
        lease_token = %(token)s, lease_expires_at = now() + make_interval(secs => %(lease)s)
    FROM chosen JOIN endpoints_endpoint endpoint
      ON endpoint.id = %(endpoint)s AND endpoint.state = 'disabled' AND endpoint.state_changed_at = %(disabled_at)s
    WHERE delivery.id = chosen.id AND delivery.status = 'pending'
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, delivery.attempt_count,
              delivery.attempt_count - delivery.budget_offset, delivery.deadline_at, now(),
              extract(epoch FROM now() - delivery.created_at)::float8
)
SELECT taken.*, event.body, event.type, event.tenant, event.traceparent
FROM taken JOIN deliveries_event event ON event.id = taken.event_id
"""


def claim_held(begun: Begun, *, ordered: bool, lease_seconds: float) -> Claimed | None:
    """Take one held delivery of a disabled endpoint; None when there is none that may go."""
    token = uuid4()
    asked: dict[str, int | float | str | datetime] = {
        "endpoint": begun.endpoint_id,
        "disabled_at": begun.disabled_at,
        "lease": lease_seconds,
        "token": str(token),
    }
    with connection.cursor() as cursor:
        cursor.execute((_HEAD if ordered else _LONGEST_DUE) + _TAKE, asked)
        row = cursor.fetchone()
        return None if row is None else claimed(row, token)
