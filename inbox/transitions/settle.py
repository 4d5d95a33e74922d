"""processing → processed, stale, ignored, received or dead: recorded only by the holder of the lease."""

import json
from typing import Any

from django.db import connection, transaction

from inbox.errors import FailureClass
from inbox.statuses import Result, Status
from inbox.transitions.bury import bury
from inbox.transitions.claim import Claimed
from inbox.transitions.tally import FINISHED, LATENCY_BUCKET, NOTHING, count_failure, one, tally

# The clock of this moment, not of the transaction's beginning: the handler ran in between.
_FINISH = f"""
WITH moved AS (
    UPDATE inbox_receivedevent
    SET status = %(status)s, finished_at = clock_timestamp(), lease_token = NULL, lease_expires_at = NULL,
        handler = %(handler)s, reason = %(reason)s
    WHERE id = %(id)s AND status = 'processing' AND lease_token = %(token)s
    RETURNING id, greatest(extract(epoch FROM finished_at - received_at) * 1000, 0)::bigint AS took_ms
), counted AS (
    SELECT 0 AS received, 0 AS duplicates, 0 AS conflicts, took_ms AS latency_ms_total, {NOTHING} AS failed,
           {one("finished", "%(result)s")} AS finished, {one("latency", "bucket")} AS latency
    FROM moved CROSS JOIN LATERAL (SELECT {LATENCY_BUCKET.format("took_ms")} AS bucket) AS judged
), {tally("latency_ms_total", finished="%(result)s", latency="array_position(excluded.latency, 1)")}
SELECT id FROM moved
"""  # noqa: S608  # every part is a constant of ours

_FAIL = """
UPDATE inbox_receivedevent
SET status = CASE WHEN %(delay)s IS NULL THEN 'dead' ELSE 'received' END,
    next_attempt_at = now() + make_interval(secs => %(delay)s),
    finished_at = CASE WHEN %(delay)s IS NULL THEN now() END,
    lease_token = NULL, lease_expires_at = NULL, handler = %(handler)s, reason = %(reason)s,
    failures = (CASE WHEN jsonb_array_length(failures) >= 20 THEN failures - 0 ELSE failures END) || %(failure)s::jsonb
WHERE id = %(id)s AND status = 'processing' AND lease_token = %(token)s
"""


def finish(claimed: Claimed, result: Result, *, handler: str, reason: str = "") -> bool:
    """Mark the event as done, in the caller's transaction; False when the lease is lost: undo everything then."""
    position = FINISHED.index(Status(result)) + 1
    return _move(_FINISH, claimed, {"status": result, "result": position, "handler": handler, "reason": reason})


def fail(
    claimed: Claimed,
    failure: FailureClass,
    *,
    delay_seconds: float | None,
    handler: str,
    reason: str,
    duration_ms: int,
) -> bool:
    """Record a failed attempt: back to received after `delay_seconds`, or, without one, dead with its dead letter.

    False when the lease is lost; nothing is recorded then.
    """
    entry = {
        "attempt": claimed.event.attempt,
        "at": claimed.claimed_at.isoformat(timespec="seconds"),
        "duration_ms": duration_ms,
        "class": failure,
        "handler": handler,
        "reason": reason,
    }
    values = {"delay": delay_seconds, "handler": handler, "reason": reason, "failure": json.dumps([entry])}
    with transaction.atomic():
        moved = _move(_FAIL, claimed, values)
        if moved and delay_seconds is None:
            bury(claimed.id, failure, reason)
        if moved:
            count_failure(claimed.source_id, failure, is_dead=delay_seconds is None)
    return moved


def _move(statement: str, claimed: Claimed, values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values | {"id": claimed.id, "token": str(claimed.token), "source": claimed.source_id})
        return bool(cursor.rowcount)
