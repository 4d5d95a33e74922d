"""received → processing: a worker takes one due event under a lease, counting the attempt before it is made."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from django.db import connection, transaction

from inbox.incoming import Incoming


@dataclass(frozen=True, slots=True)
class Claimed:
    """One event under lease. `budget_attempt` counts the attempts of the current budget, from 1.

    `has_more` says that another event of the source is due and may be processed beside this one.
    """

    id: int
    source_id: int
    token: UUID
    budget_attempt: int
    claimed_at: datetime
    unhandled: str
    has_more: bool
    event: Incoming


# Claims of one source come one after the other, so that its concurrency is never exceeded; each takes a millisecond.
# What a crash of the database forgets of a claim is the claim itself, so nobody has to wait for the disk.
_LOCK = """
SELECT slug, unhandled, concurrency, set_config('synchronous_commit', 'off', true)
FROM inbox_source WHERE id = %s FOR NO KEY UPDATE
"""

_CLAIM = """
WITH room AS MATERIALIZED (
    SELECT greatest(%(concurrency)s - count(*), 0) AS free
    FROM inbox_receivedevent WHERE source_id = %(source)s AND status = 'processing'
), due AS MATERIALIZED (
    SELECT id FROM inbox_receivedevent event
    WHERE source_id = %(source)s AND status = 'received' AND next_attempt_at <= now()
      AND (ordering_key = '' OR NOT EXISTS (
          SELECT 1 FROM inbox_receivedevent earlier
          WHERE earlier.source_id = %(source)s AND earlier.ordering_key = event.ordering_key
            AND earlier.status IN ('received', 'processing') AND earlier.ordering_key <> '' AND earlier.id < event.id))
    ORDER BY next_attempt_at, id
    LIMIT (SELECT least(free, 2) FROM room)
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE inbox_receivedevent event
    SET status = 'processing', attempt_count = attempt_count + 1, next_attempt_at = NULL,
        lease_token = %(token)s, lease_expires_at = now() + make_interval(secs => %(lease)s)
    FROM (SELECT id FROM due LIMIT 1) AS first
    WHERE event.id = first.id
    RETURNING event.*
)
SELECT id, event_id, type, body, payload, headers, received_at, occurred_at, attempt_count,
       attempt_count - budget_offset, now(), (SELECT count(*) FROM due) > 1
FROM taken
"""


def claim(source_id: int, lease_seconds: Callable[[str], float]) -> Claimed | None:
    """Take the source's event that has been due longest; None when nothing is due or its concurrency is used up.

    `lease_seconds` says for how long, given the source's slug.
    """
    token = uuid4()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LOCK, [source_id])
        source = cursor.fetchone()
        if source is None:
            return None
        slug, unhandled, concurrency, _ = source
        asked = {
            "source": source_id,
            "concurrency": concurrency,
            "token": str(token),
            "lease": float(lease_seconds(slug)),
        }
        cursor.execute(_CLAIM, asked)
        row = cursor.fetchone()
    if row is None:
        return None
    id, event_id, type, body, payload, headers, received_at, occurred_at, attempt, in_budget, now, has_more = row
    event = Incoming(
        source=slug,
        id=event_id,
        type=type,
        payload=bytes(body if payload is None else payload),
        body=bytes(body),
        headers=json.loads(headers),
        received_at=received_at,
        occurred_at=occurred_at,
        attempt=attempt,
        idempotency_key=_idempotency_key(slug, event_id),
    )
    return Claimed(id, source_id, token, in_budget, now, unhandled, has_more, event)


def _idempotency_key(slug: str, event_id: str) -> str:
    """Made of what never changes, so that it is the same even if the row was restored from a backup."""
    return hashlib.sha256(f"{slug}\0{event_id}".encode()).hexdigest()[:32]
