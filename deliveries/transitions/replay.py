"""delivered → pending, and nothing → pending: send again what arrived, and for the first time what was missed."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from deliveries import lines
from deliveries.models import Event
from deliveries.transitions.pace import Pace
from endpoints.matching import candidate_patterns
from endpoints.policies import DEFAULT_POLICY


@dataclass(frozen=True, slots=True)
class Replayed:
    """One delivery that goes out again. `endpoint_state` other than `active` means it waits for the endpoint."""

    delivery_id: int
    endpoint_id: int
    endpoint_state: str
    event_id: str
    next_attempt_at: datetime


_REPLAY = """
WITH locked AS (
    SELECT id FROM deliveries_delivery WHERE id = ANY(%(deliveries)s) AND status = 'delivered' ORDER BY id FOR UPDATE
), chosen AS (
    SELECT id, now() + make_interval(secs => %(start)s + %(step)s * (row_number() OVER (ORDER BY id) - 1)) AS due_at
    FROM locked
)
UPDATE deliveries_delivery delivery
SET status = 'pending', budget_offset = attempt_count, next_attempt_at = chosen.due_at, finished_at = NULL,
    operation_id = %(operation)s,
    deadline_at = chosen.due_at + make_interval(secs => coalesce(policy.deadline_seconds, %(default_deadline)s))
FROM chosen, endpoints_endpoint endpoint
LEFT JOIN endpoints_retrypolicy policy
  ON policy.id = coalesce(endpoint.retry_policy_id, (SELECT id FROM endpoints_retrypolicy WHERE name = 'default'))
WHERE delivery.id = chosen.id AND delivery.status = 'delivered'
  AND endpoint.id = delivery.endpoint_id AND endpoint.state <> 'archived'
RETURNING delivery.id, delivery.endpoint_id, endpoint.state, delivery.event_id, delivery.next_attempt_at
"""

# Whom an event is for is judged by the subscriptions of now, as if it were published at this moment.
_WANTED = """
WITH wanted AS (
    SELECT event.id AS event_id, event.position, endpoint.id AS endpoint_id, endpoint.state,
           coalesce(policy.deadline_seconds, %(default_deadline)s) AS deadline_seconds
    FROM json_to_recordset(%(events)s) AS event(position int, id text, tenant text, patterns varchar[])
    JOIN endpoints_endpoint endpoint
      ON endpoint.tenant = event.tenant AND endpoint.state <> 'archived' AND endpoint.event_types && event.patterns
    LEFT JOIN endpoints_retrypolicy policy
      ON policy.id = coalesce(endpoint.retry_policy_id, (SELECT id FROM endpoints_retrypolicy WHERE name = 'default'))
    WHERE %(endpoints)s::bigint[] IS NULL OR endpoint.id = ANY(%(endpoints)s)
)
"""

# A prune that comes now leaves these events alone; for one that was first they are gone, and nothing is inserted.
_HOLD = "SELECT id FROM deliveries_event WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"

_INSERT_MISSED = """
, inserted AS (
    INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset, next_attempt_at,
                                     deadline_at, last_outcome, created_at, operation_id)
    SELECT event_id, endpoint_id, 'pending', 0, 0, due_at, due_at + make_interval(secs => deadline_seconds), '', now(),
           %(operation)s
    FROM (
        SELECT *, now() + make_interval(
            secs => %(start)s + %(step)s * (row_number() OVER (ORDER BY position, endpoint_id) - 1)) AS due_at
        FROM wanted
        WHERE NOT EXISTS (SELECT FROM deliveries_delivery delivery
                          WHERE delivery.event_id = wanted.event_id AND delivery.endpoint_id = wanted.endpoint_id)
    ) AS missed
    ORDER BY position, endpoint_id
    ON CONFLICT (event_id, endpoint_id) DO NOTHING
    RETURNING id, event_id, endpoint_id, next_attempt_at
)
SELECT inserted.id, inserted.endpoint_id, wanted.state, inserted.event_id, inserted.next_attempt_at
FROM inserted JOIN wanted USING (event_id, endpoint_id)
"""

_COUNT_MISSED = """
SELECT count(*), count(*) FILTER (WHERE state <> 'active') FROM wanted
WHERE NOT EXISTS (SELECT FROM deliveries_delivery delivery
                  WHERE delivery.event_id = wanted.event_id AND delivery.endpoint_id = wanted.endpoint_id)
"""


def replay(delivery_ids: Sequence[int], operation_id: int, pace: Pace) -> list[Replayed]:
    """Send the delivered ones among these again, each with a fresh budget and deadline; returns those that were won."""
    with connection.cursor() as cursor:
        cursor.execute(_REPLAY, {"deliveries": list(delivery_ids), **_timing(operation_id, pace)})
        return _told(cursor.fetchall(), operation_id, is_first=False)


def deliver_missed(
    events: Sequence[Event], endpoint_ids: Collection[int] | None, operation_id: int, pace: Pace
) -> list[Replayed]:
    """Insert a delivery for each matching endpoint (of those given) that has none yet of the event.

    Call it in a transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HOLD, [[event.pk for event in events]])
        held = {id for (id,) in cursor.fetchall()}
        values = _values([event for event in events if event.pk in held], endpoint_ids)
        cursor.execute(_WANTED + _INSERT_MISSED, values | _timing(operation_id, pace))
        return _told(cursor.fetchall(), operation_id, is_first=True)


def count_missed(events: Sequence[Event], endpoint_ids: Collection[int] | None = None) -> tuple[int, int]:
    """How many deliveries `deliver_missed` would insert now, and how many of them would wait for their endpoint."""
    with connection.cursor() as cursor:
        cursor.execute(_WANTED + _COUNT_MISSED, _values(events, endpoint_ids))
        return tuple(cursor.fetchone())


def _told(rows: Sequence[tuple[Any, ...]], operation_id: int, *, is_first: bool) -> list[Replayed]:
    replayed = [Replayed(*row) for row in rows]
    more = {"operation_id": operation_id, "is_first": is_first}
    lines.REPLAYED.say_on_commit(asdict(row) | more for row in replayed)
    return replayed


def _timing(operation_id: int, pace: Pace) -> dict[str, Any]:
    return {
        "operation": operation_id,
        "start": float(pace.start_seconds),
        "step": float(pace.step_seconds),
        "default_deadline": DEFAULT_POLICY.deadline_seconds,
    }


def _values(events: Sequence[Event], endpoint_ids: Collection[int] | None) -> dict[str, Any]:
    rows = [
        {"position": position, "id": event.pk, "tenant": event.tenant, "patterns": candidate_patterns(event.type)}
        for position, event in enumerate(events)
    ]
    return {
        "events": json.dumps(rows),
        "endpoints": None if endpoint_ids is None else list(endpoint_ids),
        "default_deadline": DEFAULT_POLICY.deadline_seconds,
    }
