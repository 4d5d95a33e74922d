"""Dead stays dead: open dead letters are let go, under the operation that says why."""

from collections.abc import Sequence

from django.db import connection

from inbox import lines

_DISCARD = """
WITH letter AS (
    SELECT id FROM inbox_deadletter WHERE id = ANY(%(letters)s) AND resolution = 'open' ORDER BY id FOR UPDATE
)
UPDATE inbox_deadletter dead_letter
SET resolution = 'discarded', resolved_at = now(), operation_id = %(operation)s
FROM letter WHERE dead_letter.id = letter.id
RETURNING dead_letter.id, dead_letter.event_id
"""


def discard(dead_letter_ids: Sequence[int], operation_id: int) -> list[int]:
    """Resolve the open ones; returns those that were won."""
    with connection.cursor() as cursor:
        cursor.execute(_DISCARD, {"letters": list(dead_letter_ids), "operation": operation_id})
        rows = cursor.fetchall()
    lines.DISCARDED.say_on_commit(
        {"received_id": event, "dead_letter_id": letter, "operation_id": operation_id} for letter, event in rows
    )
    return [letter for letter, _ in rows]
