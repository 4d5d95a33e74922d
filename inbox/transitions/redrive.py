"""dead → received: events of open dead letters go back to work with a fresh budget."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from inbox import lines

# The letter's row lock settles who is first: whoever waits for it finds the letter no longer open, so two people
# pressing the button process once.
_REDRIVE = """
WITH letter AS (
    SELECT id, event_id FROM inbox_deadletter
    WHERE id = ANY(%(letters)s) AND resolution = 'open'
    ORDER BY id
    FOR UPDATE
), placed AS (
    SELECT id, event_id, row_number() OVER (ORDER BY id) - 1 AS place FROM letter
), moved AS (
    UPDATE inbox_receivedevent event
    SET status = 'received', budget_offset = attempt_count, finished_at = NULL,
        next_attempt_at = now() + make_interval(secs => %(first)s + letter.place * %(step)s)
    FROM placed letter WHERE event.id = letter.event_id AND event.status = 'dead'
    RETURNING letter.id AS letter_id, event.source_id, event.id
), resolved AS (
    UPDATE inbox_deadletter dead_letter
    SET resolution = 'redriven', resolved_at = now(), operation_id = %(operation)s
    FROM moved WHERE dead_letter.id = moved.letter_id
)
SELECT letter_id, source_id, id FROM moved ORDER BY letter_id
"""


def redrive(
    dead_letter_ids: Sequence[int], operation_id: int, *, first_seconds: float = 0.0, step_seconds: float = 0.0
) -> list[tuple[int, int]]:
    """Send the open ones back to work, under the operation; returns (dead letter, source) of those that were won.

    The first is due in `first_seconds`, each other one `step_seconds` after the one before it.
    """
    given: dict[str, Any] = {
        "letters": list(dead_letter_ids),
        "operation": operation_id,
        "first": float(first_seconds),
        "step": float(step_seconds),
    }
    with connection.cursor() as cursor:
        cursor.execute(_REDRIVE, given)
        rows = cursor.fetchall()
    lines.REDRIVEN.say_on_commit(
        {"received_id": event, "dead_letter_id": letter, "operation_id": operation_id} for letter, _, event in rows
    )
    return [(letter, source) for letter, source, _ in rows]
