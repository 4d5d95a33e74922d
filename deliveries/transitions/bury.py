"""The dead letter that goes with every move to dead: written in the same transaction, complete in itself."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from django.db import connection


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
RETURNING id
"""


def bury(burials: Sequence[Burial]) -> list[int]:
    """Write the dead letters of deliveries that the current transaction just moved to dead; returns their ids."""
    if not burials:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_BURY, [json.dumps([asdict(burial) for burial in burials])])
        return [row[0] for row in cursor.fetchall()]
