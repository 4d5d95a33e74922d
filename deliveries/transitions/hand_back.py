"""sending → pending: a delivery that was claimed but not sent goes back, and its attempt is not spent."""

from collections.abc import Sequence

from django.db import connection

from deliveries.transitions.claim import Claimed

_HAND_BACK = """
UPDATE deliveries_delivery delivery
SET status = 'pending', attempt_count = attempt_count - 1, next_attempt_at = now(), lease_token = NULL,
    lease_expires_at = NULL
FROM unnest(%s, %s::uuid[]) AS given(id, token)
WHERE delivery.id = given.id AND delivery.status = 'sending' AND delivery.lease_token = given.token
"""


def hand_back(unsent: Sequence[Claimed]) -> int:
    """Return claimed deliveries of which no byte was sent; gives how many were still ours to return."""
    if not unsent:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_HAND_BACK, [[row.id for row in unsent], [str(row.token) for row in unsent]])
        return int(cursor.rowcount)
