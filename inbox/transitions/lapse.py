"""processing → received or dead: a lease ran out, so the worker that held the event died or lost touch.

The attempt was counted before it was made, so an event that kills its worker every time spends its budget like any
other and ends as a dead letter.
"""

import json
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from django.db import connection, transaction

from inbox import lines
from inbox.errors import FailureClass
from inbox.retries import delay_seconds
from inbox.transitions.bury import bury
from inbox.transitions.tally import count_failure

REASON: Final = "The worker stopped before it recorded a result, or took longer than the handler's lease."


@dataclass(frozen=True, slots=True)
class Lapsed:
    """Leases that ran out, and how many of their events are dead."""

    count: int
    dead: int


# Rows that a late worker is settling at this moment are skipped: it wins.
_LAPSED = """
SELECT id, attempt_count, attempt_count - budget_offset, lease_expires_at, source_id, event_id,
       (SELECT slug FROM inbox_source WHERE id = source_id)
FROM inbox_receivedevent
WHERE status = 'processing' AND lease_expires_at <= now()
ORDER BY lease_expires_at LIMIT %s
FOR UPDATE SKIP LOCKED
"""

_MOVE = """
UPDATE inbox_receivedevent event
SET status = CASE WHEN moved.delay IS NULL THEN 'dead' ELSE 'received' END,
    next_attempt_at = now() + make_interval(secs => moved.delay),
    finished_at = CASE WHEN moved.delay IS NULL THEN now() END,
    lease_token = NULL, lease_expires_at = NULL, reason = %s,
    failures = (CASE WHEN jsonb_array_length(failures) >= 20 THEN failures - 0 ELSE failures END) || moved.failure
FROM json_to_recordset(%s) AS moved(id bigint, delay float8, failure jsonb)
WHERE event.id = moved.id
"""


def lapse(page: int, rng: Random) -> Lapsed:
    """Take back up to `page` events whose lease has run out, longest overdue first."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LAPSED, [page])
        rows = cursor.fetchall()
        moves = [_move(row, rng) for row in rows]
        if not moves:
            return Lapsed(0, 0)
        cursor.execute(_MOVE, [REASON, json.dumps(moves)])
        dead = [move["id"] for move in moves if move["delay"] is None]
        lines.LAPSED.say_on_commit(_facts(row, row[0] in dead) for row in rows)
        for id in dead:
            bury(id, FailureClass.CRASHED, REASON)
        for (*_, source_id, _, _), move in zip(rows, moves, strict=True):
            count_failure(source_id, FailureClass.CRASHED, is_dead=move["delay"] is None)
    return Lapsed(len(moves), len(dead))


def _move(row: tuple[Any, ...], rng: Random) -> dict[str, Any]:
    id, attempt, in_budget, ended_at, *_ = row
    entry = {
        "attempt": attempt,
        "at": ended_at.isoformat(timespec="seconds"),
        "duration_ms": 0,
        "class": FailureClass.CRASHED,
        "handler": "",
        "reason": REASON,
    }
    return {"id": id, "delay": delay_seconds(FailureClass.CRASHED, in_budget, rng), "failure": [entry]}


def _facts(row: tuple[Any, ...], is_dead: bool) -> dict[str, object]:
    id, attempt, _, _, _, event_id, source = row
    return {
        "source": source,
        "event_id": event_id,
        "received_id": id,
        "attempt": attempt,
        "status": "dead" if is_dead else "received",
    }
