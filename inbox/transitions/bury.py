"""The dead letter that goes with every move to dead: written in the same transaction."""

from django.db import connection

from inbox import lines
from inbox.errors import FailureClass
from journal import scrubbed

_BURY = """
INSERT INTO inbox_deadletter (event_id, source_id, event_type, failure_class, reason, created_at, resolution)
SELECT id, source_id, type, %s, %s, now(), 'open' FROM inbox_receivedevent WHERE id = %s
RETURNING id, event_type, (SELECT slug FROM inbox_source WHERE id = inbox_deadletter.source_id),
          (SELECT event.event_id FROM inbox_receivedevent event WHERE event.id = inbox_deadletter.event_id)
"""


def bury(event_id: int, failure: FailureClass, reason: str) -> int:
    """Write the dead letter of an event (by its row number) that this transaction moved to dead; returns its id."""
    with connection.cursor() as cursor:
        cursor.execute(_BURY, [failure, reason, event_id])
        id, event_type, source, provider_id = cursor.fetchone()
    facts = {
        "source": source,
        "event_id": provider_id,
        "event_type": event_type or None,
        "received_id": event_id,
        "dead_letter_id": id,
        "failure_class": failure,
        "reason": scrubbed(reason),
    }
    lines.DEAD_LETTERED.say_on_commit([facts])
    return int(id)
