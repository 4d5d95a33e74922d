"""What has been kept long enough goes: bodies first, rows much later; each in pages that hold no lock for long."""

from datetime import datetime

from django.db import connection

# An open dead letter keeps its event whole: that is what a redrive needs.
_BODIES = """
WITH old AS (
    SELECT id FROM inbox_receivedevent event
    WHERE received_at < %(before)s AND body IS NOT NULL AND status IN ('processed', 'stale', 'ignored', 'dead')
      AND NOT EXISTS (SELECT 1 FROM inbox_deadletter letter WHERE letter.event_id = event.id
                      AND letter.resolution = 'open')
    ORDER BY received_at LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
)
UPDATE inbox_receivedevent event SET body = NULL, payload = NULL, headers = '{}'::jsonb, content_type = ''
FROM old WHERE event.id = old.id
"""

_LETTERS = """
DELETE FROM inbox_deadletter WHERE id IN (
    SELECT letter.id FROM inbox_receivedevent event
    JOIN inbox_deadletter letter ON letter.event_id = event.id AND letter.resolution <> 'open'
    WHERE event.received_at < %(before)s AND event.body IS NULL
    ORDER BY event.received_at LIMIT %(rows)s)
"""

_LEDGER = """
WITH old AS (
    SELECT id FROM inbox_receivedevent event
    WHERE received_at < %(before)s AND body IS NULL
      AND NOT EXISTS (SELECT 1 FROM inbox_deadletter letter WHERE letter.event_id = event.id)
    ORDER BY received_at LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
)
DELETE FROM inbox_receivedevent event USING old WHERE event.id = old.id
"""

# What goes is added to the totals, so that all refusals there ever were is a number that never goes down.
_REFUSALS = """
WITH old AS (
    DELETE FROM inbox_refusalcount WHERE day < %(before)s::date RETURNING id, source_id, reason, count
), kept AS (
    INSERT INTO inbox_refusaltotal AS total (source_id, reason, count)
    SELECT source_id, reason, sum(count) FROM old GROUP BY source_id, reason ORDER BY source_id, reason
    ON CONFLICT (source_id, reason) DO UPDATE SET count = total.count + excluded.count
)
SELECT id FROM old
"""

_FETCHED = """
DELETE FROM inbox_fetchedobject WHERE id IN (
    SELECT id FROM inbox_fetchedobject WHERE fetched_at < %(before)s ORDER BY fetched_at LIMIT %(rows)s)
"""


def forget_bodies(before: datetime, rows: int) -> int:
    """Take bodies and headers out of up to `rows` final events that arrived before."""
    return _run(_BODIES, before, rows)


def forget_letters(before: datetime, rows: int) -> int:
    """Delete up to `rows` resolved dead letters of events that arrived before and are about to go."""
    return _run(_LETTERS, before, rows)


def forget_events(before: datetime, rows: int) -> int:
    """Delete up to `rows` events that arrived before: from then on a repeat of them would be new."""
    return _run(_LEDGER, before, rows)


def forget_refusals(before: datetime, rows: int) -> int:
    """Delete refusal counts of earlier days; there are only a few a day."""
    return _run(_REFUSALS, before, rows)


def forget_fetches(before: datetime, rows: int) -> int:
    """Delete up to `rows` marks of fetches that began before; an event older than that only costs a fetch."""
    return _run(_FETCHED, before, rows)


def _run(statement: str, before: datetime, rows: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"before": before, "rows": rows})
        return int(cursor.rowcount)
