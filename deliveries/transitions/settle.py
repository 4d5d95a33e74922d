"""sending → delivered, pending or dead: results are recorded in bulk, each only by the holder of the lease."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from deliveries import lines
from deliveries.statuses import Status
from deliveries.tracing import span_id_of, trace_id_of
from deliveries.transitions.bury import Burial, bury
from deliveries.transitions.claim import Claimed
from deliveries.transitions.count import COUNT
from journal import scrubbed


@dataclass(slots=True)
class Result:
    """One attempt and what becomes of its delivery.

    `delay_seconds` counts from the recording, on the database's clock. `is_unspent`: the attempt was made, but does not
    count against the delivery's budget. `pace` says by which rule the request could go, `drain` names the drain that
    made it, `traceparent` the span.
    """

    claimed: Claimed
    status: Status
    outcome: str
    reason: str
    started_at: datetime
    duration_ms: int
    status_code: int | None = None
    delay_seconds: float | None = None
    host: str = ""
    address: str = ""
    retry_after: str = ""
    snippet: str = ""
    burial: Burial | None = None
    is_unspent: bool = False
    certificate_ends_at: datetime | None = None
    pace: str = ""
    rate_limit: float | None = None
    drain: str = ""
    traceparent: str | None = None


@dataclass(slots=True)
class Settled:
    """The deliveries that moved, and the dead letters that were written. The rest had lost their lease."""

    delivery_ids: set[int]
    dead_letter_ids: list[int]


# One round trip: only rows that are still under our lease move, and only those get an attempt row, so a worker that was
# slower than its lease can neither overwrite the newer owner's result nor leave a second attempt of the same number.
_SETTLE = f"""
WITH result AS (
    SELECT * FROM json_to_recordset(%s) AS given(
        id bigint, token uuid, number int, status text, delay float8, outcome text, status_code int,
        started_at timestamptz, duration_ms int, reason text, host text, address text, retry_after text, snippet text,
        unspent bool)
), moved AS (
    UPDATE deliveries_delivery delivery
    SET status = result.status,
        next_attempt_at = CASE result.status WHEN 'pending' THEN now() + make_interval(secs => result.delay) END,
        finished_at = CASE WHEN result.status IN ('delivered', 'dead') THEN now() END,
        lease_token = NULL, lease_expires_at = NULL, last_outcome = result.outcome,
        budget_offset = budget_offset + CASE WHEN result.unspent THEN 1 ELSE 0 END
    FROM result
    WHERE delivery.id = result.id AND delivery.status = 'sending' AND delivery.lease_token = result.token
    RETURNING delivery.id, delivery.endpoint_id, delivery.created_at, delivery.next_attempt_at
), written AS (
    INSERT INTO deliveries_attempt (delivery_id, number, started_at, duration_ms, outcome, status_code, reason, host,
                                    address, retry_after, snippet)
    SELECT id, number, started_at, duration_ms, outcome, status_code, reason, host, address, retry_after, snippet
    FROM result JOIN moved USING (id) ORDER BY id
), counted_result AS (
    SELECT moved.endpoint_id, result.outcome, result.number, result.duration_ms,
           extract(epoch FROM clock_timestamp() - moved.created_at) * 1000 AS end_to_end_ms
    FROM result JOIN moved USING (id)
), counted AS ({COUNT})
SELECT id, next_attempt_at FROM moved
"""  # noqa: S608  # the count is a constant of ours


def settle(results: Sequence[Result]) -> Settled:
    """Record finished attempts in one transaction."""
    if not results:
        return Settled(set(), [])
    burials = [result.burial for result in results if result.burial]
    payload = json.dumps([_row(result) for result in results])
    if not burials:
        moved = _move(payload)
        _tell(results, moved)
        return Settled(set(moved), [])
    with transaction.atomic():
        moved = _move(payload)
        _tell(results, moved)
        return Settled(set(moved), bury([burial for burial in burials if burial.delivery_id in moved]))


def _move(payload: str) -> dict[int, datetime | None]:
    """The deliveries that moved, and when they are due again."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, [payload])
        return dict(cursor.fetchall())


def _tell(results: Sequence[Result], moved: Mapping[int, datetime | None]) -> None:
    lines.ATTEMPT_MADE.say_on_commit(
        _facts(result, moved[result.claimed.id]) for result in results if result.claimed.id in moved
    )


def _row(result: Result) -> dict[str, object]:
    claimed = result.claimed
    row: dict[str, object] = {
        "id": claimed.id,
        "token": claimed.token.hex,
        "number": claimed.number,
        "status": result.status,
        "delay": result.delay_seconds,
        "outcome": result.outcome,
        "status_code": result.status_code,
        "started_at": result.started_at.isoformat(),
        "duration_ms": result.duration_ms,
        "reason": result.reason,
        "host": result.host,
        "address": result.address,
        "retry_after": result.retry_after,
        "snippet": result.snippet,
    }
    # Few are, and every result passes through here.
    return row | {"unspent": True} if result.is_unspent else row


def _facts(result: Result, next_attempt_at: datetime | None) -> dict[str, object]:
    claimed = result.claimed
    arrived = result.status == Status.DELIVERED
    return {
        "delivery_id": claimed.id,
        "event_id": claimed.event_id,
        "event_type": claimed.event_type,
        "tenant": claimed.tenant or None,
        "endpoint_id": claimed.endpoint_id,
        "host": result.host or None,
        "address": result.address or None,
        "attempt": claimed.number,
        "budget_attempt": claimed.budget_number,
        "outcome": result.outcome,
        "status_code": result.status_code,
        # Of a redirect it shows the path that is asked for.
        "reason": None if arrived else scrubbed(result.reason),
        "decision": _DECISIONS[result.status],
        "next_attempt_at": next_attempt_at,
        "retry_after": result.retry_after or None,
        "started_at": result.started_at,
        "duration_ms": result.duration_ms,
        "event_to_ack_ms": _age_ms(result) if arrived else None,
        "pace": result.pace or None,
        "rate_limit": result.rate_limit,
        "drain": result.drain or None,
        "claim": claimed.token.hex[:12],
        "trace_id": trace_id_of(result.traceparent),
        "span_id": span_id_of(result.traceparent),
    }


_DECISIONS: Final = {Status.DELIVERED: "delivered", Status.PENDING: "retry", Status.DEAD: "dead_letter"}


def _age_ms(result: Result) -> int:
    """From the recording of the delivery to the end of this attempt, all on the database's clock."""
    claimed = result.claimed
    waited = claimed.age_seconds + (result.started_at - claimed.claimed_at).total_seconds()
    return round(waited * 1000) + result.duration_ms
