"""pending → dead: the deadline passed, or the endpoint was archived, before the delivery could be made."""

from datetime import UTC, datetime

from django.db import connection, transaction

from deliveries.transitions.orphaned import Orphan, bury_orphans

_MOVE = """
, moved AS (
    UPDATE deliveries_delivery delivery
    SET status = 'dead', next_attempt_at = NULL, finished_at = now()
    FROM chosen, endpoints_endpoint endpoint
    WHERE delivery.id = chosen.id AND delivery.status = 'pending' AND endpoint.id = delivery.endpoint_id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, endpoint.url, endpoint.state, delivery.deadline_at,
              delivery.attempt_count - delivery.budget_offset AS attempts, delivery.last_outcome
)
SELECT * FROM moved ORDER BY id
"""

# Rows that a worker is claiming at this moment are skipped: it may still make that attempt.
_EXPIRE = """
WITH chosen AS (
    SELECT id FROM deliveries_delivery WHERE status = 'pending' AND deadline_at <= now()
    ORDER BY deadline_at
    LIMIT %s
    FOR UPDATE SKIP LOCKED
)
"""

_BURY_ARCHIVED = """
WITH chosen AS (
    SELECT row.id FROM endpoints_endpoint endpoint
    CROSS JOIN LATERAL (
        SELECT id FROM deliveries_delivery WHERE endpoint_id = endpoint.id AND status = 'pending'
        ORDER BY next_attempt_at, id
        LIMIT %s
        FOR UPDATE SKIP LOCKED
    ) AS row
    WHERE endpoint.state = 'archived'
    LIMIT %s
)
"""


def expire(page: int) -> list[int]:
    """Give up to `page` deliveries past their deadline a dead letter of class `expired`; returns those letters' ids."""
    return _bury_moved(_EXPIRE + _MOVE, [page], "expired")


def bury_archived(page: int) -> list[int]:
    """Give up to `page` waiting deliveries of archived endpoints a dead letter of class `archived`; returns the ids."""
    return _bury_moved(_BURY_ARCHIVED + _MOVE, [page, page], "archived")


def _bury_moved(statement: str, values: list[int], failure_class: str) -> list[int]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            rows = cursor.fetchall()
        return bury_orphans(
            [
                Orphan(id, endpoint_id, event_id, url, failure_class, _reason(failure_class, *facts))
                for id, endpoint_id, event_id, url, *facts in rows
            ]
        )


def _reason(failure_class: str, state: str, deadline_at: datetime, attempts: int, last_outcome: str) -> str:
    last = f" Attempts made: {attempts}; the last one ended as {last_outcome}." if attempts and last_outcome else ""
    if failure_class == "archived":
        return f"The endpoint was archived before this could be delivered.{last or ' No attempt was made.'}"
    held = f" The endpoint was {state}." if state != "active" else ""
    deadline = f"{deadline_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return f"The deadline {deadline} passed.{held}{last or ' No attempt was made.'}"
