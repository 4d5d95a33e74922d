"""dead stays dead: open dead letters are let go for good."""

from collections.abc import Sequence

from django.db import connection

from deliveries import lines

_DISCARD = """
WITH letter AS (
    SELECT id FROM deliveries_deadletter WHERE id = ANY(%(letters)s) AND resolution = 'open' ORDER BY id FOR UPDATE
)
UPDATE deliveries_deadletter dead_letter
SET resolution = 'discarded', resolved_at = now(), operation_id = %(operation)s
FROM letter WHERE dead_letter.id = letter.id
RETURNING dead_letter.id, dead_letter.delivery_id, dead_letter.endpoint_id
"""


def discard(dead_letter_ids: Sequence[int], operation_id: int) -> list[int]:
    """Resolve the open ones among these dead letters as discarded, under the operation; returns those that were won."""
    with connection.cursor() as cursor:
        cursor.execute(_DISCARD, {"letters": list(dead_letter_ids), "operation": operation_id})
        rows = cursor.fetchall()
    lines.LETTER_DISCARDED.say_on_commit(
        {"dead_letter_id": id, "delivery_id": delivery_id, "endpoint_id": endpoint_id, "operation_id": operation_id}
        for id, delivery_id, endpoint_id in rows
    )
    return [row[0] for row in rows]
