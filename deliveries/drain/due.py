"""When endpoints become due next; a look at the first entry of each one's part of the due index."""

from collections.abc import Collection

from django.db import connection

_NEXT_DUE = """
SELECT asked.id, extract(epoch FROM first.next_attempt_at - now())::float8
FROM unnest(%s) AS asked(id)
CROSS JOIN LATERAL (
    SELECT next_attempt_at FROM deliveries_delivery
    WHERE endpoint_id = asked.id AND status = 'pending' ORDER BY next_attempt_at LIMIT 1
) AS first
"""


def seconds_until_due(endpoint_ids: Collection[int]) -> dict[int, float]:
    """Of these endpoints, those with a pending delivery, and the seconds until the first is due (0 when overdue)."""
    if not endpoint_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_DUE, [list(endpoint_ids)])
        return {id: max(seconds, 0.0) for id, seconds in cursor.fetchall()}
