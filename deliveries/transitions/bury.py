"""The dead letter that goes with every move to dead: written in the same transaction, complete in itself."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.db import connection

from deliveries import lines
from journal import scrubbed


@dataclass(slots=True)
class Burial:
    """Why a delivery is given up, and the request as it was last made (headers without secret values)."""

    delivery_id: int
    failure_class: str
    reason: str
    url: str
    headers: dict[str, str]


# Runs after the last attempt's row is written, so that the copy of the attempts is whole.
_BURY = """
WITH buried AS (
    INSERT INTO deliveries_deadletter (delivery_id, endpoint_id, event_type, failure_class, reason, url, headers, body,
                                       attempts, created_at, resolution)
    SELECT delivery.id, delivery.endpoint_id, event.type, given.failure_class, given.reason, given.url, given.headers,
           event.body, coalesce(tried.attempts, '[]'::jsonb), now(), 'open'
    FROM json_to_recordset(%s) AS given(delivery_id bigint, failure_class text, reason text, url text, headers jsonb)
    JOIN deliveries_delivery delivery ON delivery.id = given.delivery_id
    JOIN deliveries_event event ON event.id = delivery.event_id
    LEFT JOIN LATERAL (
        SELECT jsonb_agg(jsonb_build_object(
                   'number', number, 'started_at', started_at, 'duration_ms', duration_ms, 'outcome', outcome,
                   'status_code', status_code, 'reason', reason, 'host', host, 'address', address) ORDER BY number
               ) AS attempts
        FROM deliveries_attempt WHERE delivery_id = delivery.id
    ) AS tried ON true
    ORDER BY delivery.id
    RETURNING id, delivery_id, endpoint_id, event_type, failure_class, reason, jsonb_array_length(attempts) AS attempts
)
SELECT buried.*, event.id, event.tenant
FROM buried JOIN deliveries_delivery delivery ON delivery.id = buried.delivery_id
JOIN deliveries_event event ON event.id = delivery.event_id
ORDER BY buried.id
"""


def bury(burials: Sequence[Burial]) -> list[int]:
    """Write the dead letters of deliveries that the current transaction just moved to dead; returns their ids."""
    if not burials:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_BURY, [json.dumps([asdict(burial) for burial in burials])])
        rows = cursor.fetchall()
    lines.DEAD_LETTERED.say_on_commit(_facts(*row) for row in rows)
    return [row[0] for row in rows]


def _facts(
    dead_letter_id: int,
    delivery_id: int,
    endpoint_id: int,
    event_type: str,
    failure_class: str,
    reason: str,
    attempts: int,
    event_id: str,
    tenant: str,
) -> dict[str, object]:
    return {
        "delivery_id": delivery_id,
        "event_id": event_id,
        "event_type": event_type,
        "tenant": tenant or None,
        "endpoint_id": endpoint_id,
        "dead_letter_id": dead_letter_id,
        "attempts": attempts,
        "failure_class": failure_class,
        "reason": scrubbed(reason),
    }
