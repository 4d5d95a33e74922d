"""The dead letter that goes with every move to dead: written in the same transaction."""

from django.db import connection

from inbox.errors import FailureClass

_BURY = """
INSERT INTO inbox_deadletter (event_id, source_id, event_type, failure_class, reason, created_at, resolution)
SELECT id, source_id, type, %s, %s, now(), 'open' FROM inbox_receivedevent WHERE id = %s
RETURNING id
"""


def bury(event_id: int, failure: FailureClass, reason: str) -> int:
    """Write the dead letter of an event (by its row number) that this transaction moved to dead; returns its id."""
    with connection.cursor() as cursor:
        cursor.execute(_BURY, [failure, reason, event_id])
        return int(cursor.fetchone()[0])
