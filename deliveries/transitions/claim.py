"""pending → sending: a worker takes due deliveries under a lease, counting the attempt before it is made."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import connection


@dataclass(slots=True)
class Claimed:
    """One delivery under lease. `number` counts all attempts, `budget_number` those of the current budget, from 1.

    `claimed_at` is the database's clock, the one that due times, leases and deadlines are measured by. `age_seconds` is
    how long ago, then, the delivery was recorded.
    """

    id: int
    endpoint_id: int
    event_id: str
    number: int
    budget_number: int
    deadline_at: datetime
    claimed_at: datetime
    token: UUID
    body: bytes
    age_seconds: float = 0.0
    event_type: str = ""
    tenant: str = ""
    traceparent: str | None = None


@dataclass(slots=True)
class Wish:
    """How many deliveries a worker wants of an endpoint, and for how many seconds."""

    rows: int
    lease_seconds: float


# Rows that another worker holds are skipped, not waited for. The endpoint's state is judged in the same statement, so a
# pause holds from its commit on. The ids pass through arrays: the planner takes an array for a few rows and goes by the
# index, where it takes an unknown LIMIT for a tenth of an endpoint's backlog and reads both tables from end to end.
_CLAIM = """
WITH wish AS (
    SELECT * FROM unnest(%(endpoints)s, %(rows)s, %(leases)s) AS wish(endpoint_id, rows, lease)
), due AS (
    SELECT row.id
    FROM wish JOIN endpoints_endpoint endpoint ON endpoint.id = wish.endpoint_id AND endpoint.state = 'active'
    CROSS JOIN LATERAL (
        SELECT id FROM deliveries_delivery
        WHERE endpoint_id = wish.endpoint_id AND status = 'pending' AND next_attempt_at <= now()
        ORDER BY next_attempt_at, id
        LIMIT wish.rows
        FOR UPDATE SKIP LOCKED
    ) AS row
), taken AS (
    UPDATE deliveries_delivery delivery
    SET status = 'sending', attempt_count = attempt_count + 1, next_attempt_at = NULL,
        lease_token = %(token)s, lease_expires_at = now() + make_interval(secs => wish.lease)
    FROM wish WHERE delivery.id = ANY (ARRAY (SELECT id FROM due)) AND delivery.endpoint_id = wish.endpoint_id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, delivery.attempt_count,
              delivery.attempt_count - delivery.budget_offset, delivery.deadline_at, now(),
              extract(epoch FROM now() - delivery.created_at)::float8
)
SELECT taken.*, event.body, event.type, event.tenant, event.traceparent
FROM taken JOIN deliveries_event event ON event.id = taken.event_id ORDER BY taken.id
"""


def claim(wishes: Mapping[int, Wish]) -> list[Claimed]:
    """Take due deliveries of several endpoints (id -> wish) in one statement, oldest due first; what is due at most."""
    token = uuid4()
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM,
            {
                "endpoints": list(wishes),
                "rows": [wish.rows for wish in wishes.values()],
                "leases": [float(wish.lease_seconds) for wish in wishes.values()],
                "token": str(token),
            },
        )
        return [claimed(row, token) for row in cursor.fetchall()]


def claimed(row: tuple[Any, ...], token: UUID) -> Claimed:
    """A row of a claim's statement."""
    *facts, age_seconds, body, event_type, tenant, traceparent = row
    return Claimed(
        *facts,  # type: ignore[call-arg]  # a tuple whose length is the statement's
        token,
        body.encode(),
        age_seconds,
        event_type,
        tenant,
        traceparent,
    )
