"""The last error of an endpoint, as a sentence: from its newest dead letter, or what is waiting to be tried again."""

from typing import Final

from django.db import connection

# Two probes of an index each, however long the endpoint's history is. What waits longest for its next attempt has
# failed most often; the reasons are those of attempts, which name no URL.
_LAST_ERROR: Final = """
SELECT reason FROM (
    (SELECT created_at AS at, reason FROM deliveries_deadletter
     WHERE endpoint_id = %(id)s ORDER BY id DESC LIMIT 1)
    UNION ALL
    SELECT attempt.started_at, attempt.reason
    FROM (SELECT id, attempt_count FROM deliveries_delivery WHERE endpoint_id = %(id)s AND status = 'pending'
          ORDER BY next_attempt_at DESC LIMIT 1) AS waiting
    JOIN deliveries_attempt attempt
      ON attempt.delivery_id = waiting.id AND attempt.number = waiting.attempt_count AND attempt.outcome <> 'delivered'
) AS errors
ORDER BY at DESC LIMIT 1
"""


def last_error(endpoint_id: int) -> str:
    """The sentence; empty when nothing of the kind is left."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_ERROR, {"id": endpoint_id})
        row = cursor.fetchone()
        return str(row[0]) if row else ""
