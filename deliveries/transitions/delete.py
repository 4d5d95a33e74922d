"""Final → gone: what has been kept long enough is deleted, with everything that hangs on it, in short transactions."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

# An event goes with its deliveries, attempts and resolved dead letters, and only when all of them may go: nothing on
# its way, no dead letter that is open or was resolved a short while ago. The age index serves the order and the resume.
_CHOOSE_EVENTS = """
SELECT id, created_at FROM deliveries_event event
WHERE created_at < %(before)s AND (created_at, id) > (%(after_time)s, %(after_id)s)
ORDER BY created_at, id LIMIT %(rows)s
"""
_DELETE_EVENTS = """
WITH gone AS (
    SELECT id FROM deliveries_event event
    WHERE id = ANY(%(events)s)
      AND NOT EXISTS (SELECT FROM deliveries_delivery delivery
                      WHERE delivery.event_id = event.id AND delivery.status IN ('pending', 'sending'))
      AND NOT EXISTS (SELECT FROM deliveries_delivery delivery
                      JOIN deliveries_deadletter letter ON letter.delivery_id = delivery.id
                      WHERE delivery.event_id = event.id
                        AND (letter.resolution = 'open' OR letter.resolved_at >= %(letters_before)s))
    FOR UPDATE SKIP LOCKED
)
SELECT id FROM gone
"""
_DELETE_PARTS = (
    "DELETE FROM deliveries_attempt attempt USING deliveries_delivery delivery"
    " WHERE attempt.delivery_id = delivery.id AND delivery.event_id = ANY(%s)",
    "DELETE FROM deliveries_deadletter letter USING deliveries_delivery delivery"
    " WHERE letter.delivery_id = delivery.id AND delivery.event_id = ANY(%s)",
    "DELETE FROM deliveries_delivery WHERE event_id = ANY(%s)",
    "DELETE FROM deliveries_event WHERE id = ANY(%s)",
)

_DELETE_ATTEMPTS = """
WITH old AS (
    SELECT attempt.id FROM deliveries_attempt attempt
    JOIN deliveries_delivery delivery ON delivery.id = attempt.delivery_id
    WHERE attempt.started_at < %(before)s AND delivery.status IN ('delivered', 'dead')
    ORDER BY attempt.started_at LIMIT %(rows)s
)
DELETE FROM deliveries_attempt attempt USING old WHERE attempt.id = old.id
"""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run has looked: the creation time and id of the last event it judged."""

    time: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """What one page did; `place` is None when there is nothing further to look at."""

    events: int
    place: Place | None


def delete_events(before: datetime, letters_before: datetime, after: Place, rows: int) -> Deleted:
    """Judge the next `rows` events older than `before` and delete those that may go. Call it in a transaction."""
    with connection.cursor() as cursor:
        cursor.execute(_CHOOSE_EVENTS, {"before": before, "after_time": after.time, "after_id": after.id, "rows": rows})
        chosen = cursor.fetchall()
        if not chosen:
            return Deleted(0, None)
        cursor.execute(_DELETE_EVENTS, {"events": [id for id, _ in chosen], "letters_before": letters_before})
        gone = [row[0] for row in cursor.fetchall()]
        if gone:
            for statement in _DELETE_PARTS:
                cursor.execute(statement, [gone])
        last_id, last_time = chosen[-1]
        return Deleted(len(gone), Place(last_time, last_id) if len(chosen) == rows else None)


def delete_attempts(before: datetime, rows: int) -> int:
    """Delete up to `rows` attempts of finished deliveries that are older than `before`; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE_ATTEMPTS, {"before": before, "rows": rows})
        return int(cursor.rowcount)
