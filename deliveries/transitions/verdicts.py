"""What is remembered of the health verdicts: facts of each look in bulk, and a level that only one look may move."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from deliveries import lines
from endpoints.health import Level, Verdict


@dataclass(frozen=True, slots=True)
class Seen:
    """The verdict on one endpoint, and the minute of its last success within the hour."""

    endpoint_id: int
    verdict: Verdict
    last_success_at: datetime | None


# In the order of the ids, so that two looks at once wait for each other instead of deadlocking. An endpoint that was
# deleted meanwhile is left out.
_KEEP = """
INSERT INTO deliveries_endpointhealth AS health (endpoint_id, level, since, score, sign, reason, judged_at,
                                                 last_success_at, last_error)
SELECT seen.endpoint_id, 'unknown', %(now)s, seen.score, seen.sign, seen.reason, %(now)s, seen.last_success_at, ''
FROM json_to_recordset(%(seen)s) AS seen(endpoint_id bigint, score int, sign text, reason text,
                                         last_success_at timestamptz)
JOIN endpoints_endpoint endpoint ON endpoint.id = seen.endpoint_id
ORDER BY seen.endpoint_id
ON CONFLICT (endpoint_id) DO UPDATE
SET score = excluded.score, sign = excluded.sign, reason = excluded.reason, judged_at = excluded.judged_at,
    last_success_at = coalesce(excluded.last_success_at, health.last_success_at)
"""
_MOVE = """
UPDATE deliveries_endpointhealth SET level = %(after)s, since = %(now)s, last_error = coalesce(%(error)s, last_error)
WHERE endpoint_id = %(id)s AND level = %(before)s
"""
_CLEAR = "UPDATE deliveries_endpointhealth SET level = 'unknown', score = NULL, since = %s WHERE endpoint_id = %s"


def keep(seen: Iterable[Seen], now: datetime) -> None:
    """Remember what a look found; levels stay."""
    rows = [
        {
            "endpoint_id": each.endpoint_id,
            "score": each.verdict.score,
            "sign": each.verdict.sign,
            "reason": each.verdict.reason,
            "last_success_at": each.last_success_at and each.last_success_at.isoformat(),
        }
        for each in seen
    ]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_KEEP, {"now": now, "seen": json.dumps(rows)})


def move(endpoint_id: int, before: Level, after: Level, now: datetime, *, error: str | None = None) -> bool:
    """Move the level, and say whether this was the look that did."""
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, {"id": endpoint_id, "before": before, "after": after, "now": now, "error": error})
        moved = bool(cursor.rowcount)
    if moved:
        lines.HEALTH_CHANGED.say_on_commit([{"endpoint_id": endpoint_id, "from_level": before, "to_level": after}])
    return moved


def forget_level(endpoint_id: int, at: datetime) -> None:
    """Begin anew: what an endpoint did before it was enabled says nothing about it now."""
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR, [at, endpoint_id])
