"""(nothing) → received, or dead when it is poison: an event is stored once, whatever arrives how often at once."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from inbox.errors import FailureClass
from inbox.transitions.bury import bury
from inbox.transitions.tally import NOTHING, count_failure, tally


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the door found out about a proven request. `payload` is None where it is the body itself."""

    source_id: int
    event_id: str
    type: str
    body: bytes
    payload: bytes | None
    content_type: str
    headers: Mapping[str, str]
    fingerprint: str
    occurred_at: datetime | None
    ordering_key: str


@dataclass(frozen=True, slots=True)
class Stored:
    """The event's row; `is_new` unless it was there already, `has_other_body` if what is there differs."""

    id: int
    is_new: bool
    has_other_body: bool


# The unique constraint decides who is first; whoever comes second waits for the first one's commit and is counted. A
# row that this statement inserted has no xmax: that tells an insert from an update.
_ARRIVE = f"""
WITH arrived AS (
    INSERT INTO inbox_receivedevent AS stored (
        source_id, event_id, type, body, payload, content_type, headers, fingerprint, received_at, occurred_at,
        ordering_key, status, attempt_count, budget_offset, next_attempt_at, finished_at, duplicates, conflicts,
        handler, reason, failures)
    VALUES (%(source)s, %(event_id)s, %(type)s, %(body)s, %(payload)s, %(content_type)s, %(headers)s, %(fingerprint)s,
        now(), %(occurred_at)s, %(ordering_key)s, %(status)s, 0, 0,
        CASE %(status)s WHEN 'received' THEN now() END, CASE %(status)s WHEN 'dead' THEN now() END, 0, 0, '',
        %(reason)s, '[]')
    ON CONFLICT (source_id, event_id) DO UPDATE
    SET duplicates = stored.duplicates + 1, last_duplicate_at = now(),
        conflicts = stored.conflicts + (stored.fingerprint <> excluded.fingerprint)::int
    RETURNING id, xmax = 0 AS is_new, fingerprint <> %(fingerprint)s AS has_other_body
), counted AS (
    SELECT is_new::int AS received, (NOT is_new)::int AS duplicates, has_other_body::int AS conflicts,
           0 AS latency_ms_total, {NOTHING} AS finished, {NOTHING} AS failed, {NOTHING} AS latency
    FROM arrived
), {tally("received", "duplicates", "conflicts")}
SELECT id, is_new, has_other_body FROM arrived
"""  # noqa: S608  # every part is a constant of ours


def arrive(arrival: Arrival) -> Stored:
    """Store an event that waits for its handler, or count it as a repeat; one statement."""
    return _insert(arrival, "received", "")


def arrive_poisoned(arrival: Arrival, reason: str) -> Stored:
    """Store an event that no handler could read, with its dead letter; or count it as a repeat."""
    with transaction.atomic():
        stored = _insert(arrival, "dead", reason)
        if stored.is_new:
            bury(stored.id, FailureClass.POISON, reason)
            count_failure(arrival.source_id, FailureClass.POISON, is_dead=True)
    return stored


def _insert(arrival: Arrival, status: str, reason: str) -> Stored:
    values: dict[str, Any] = {
        "source": arrival.source_id,
        "event_id": arrival.event_id,
        "type": arrival.type,
        "body": arrival.body,
        "payload": arrival.payload,
        "content_type": arrival.content_type,
        "headers": json.dumps(dict(arrival.headers)),
        "fingerprint": arrival.fingerprint,
        "occurred_at": arrival.occurred_at,
        "ordering_key": arrival.ordering_key,
        "status": status,
        "reason": reason,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ARRIVE, values)
        return Stored(*cursor.fetchone())
