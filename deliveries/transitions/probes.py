"""What is remembered of the probes of disabled endpoints. Each write is guarded and says whether it was the one.

A probe's row counts while its endpoint is disabled by the rule since the same moment; any other is left lying.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from endpoints.health import RULE

# An endpoint's own word comes first; 0 minutes switch it off.
_MINUTES: Final = "coalesce((endpoint.health_thresholds->>'probe_minutes')::float8, %(minutes)s)"

_LIVING: Final = f"""
FROM deliveries_endpointprobe probe
JOIN endpoints_endpoint endpoint
  ON endpoint.id = probe.endpoint_id AND endpoint.state = 'disabled' AND endpoint.state_changed_by = %(rule)s
 AND endpoint.state_changed_at = probe.disabled_at AND {_MINUTES} > 0
"""

_UNPLANNED: Final = f"""
SELECT endpoint.id, endpoint.state_changed_at, {_MINUTES},
       CASE WHEN probe.arrived_at > endpoint.state_changed_at - interval '1 day' THEN probe.tries ELSE 0 END
FROM endpoints_endpoint endpoint
LEFT JOIN deliveries_endpointprobe probe ON probe.endpoint_id = endpoint.id
WHERE endpoint.state = 'disabled' AND endpoint.state_changed_by = %(rule)s
  AND probe.disabled_at IS DISTINCT FROM endpoint.state_changed_at AND {_MINUTES} > 0
ORDER BY endpoint.id
"""  # noqa: S608  # the parts are constants of ours

_PLAN: Final = """
INSERT INTO deliveries_endpointprobe AS probe (endpoint_id, disabled_at, next_at, tries, said)
SELECT id, %(disabled_at)s, %(next_at)s, %(tries)s, '' FROM endpoints_endpoint WHERE id = %(id)s
ON CONFLICT (endpoint_id) DO UPDATE
SET disabled_at = excluded.disabled_at, next_at = excluded.next_at, tries = excluded.tries,
    tried_at = NULL, arrived_at = NULL, said = ''
WHERE probe.disabled_at <> excluded.disabled_at
"""

_DUE: Final = f"""
SELECT probe.endpoint_id {_LIVING}
WHERE probe.next_at <= %(now)s
  AND EXISTS (SELECT FROM deliveries_delivery WHERE endpoint_id = endpoint.id AND status = 'pending')
ORDER BY probe.next_at LIMIT %(most)s
"""  # noqa: S608

_FIND: Final = f"""
SELECT probe.disabled_at, probe.tries, {_MINUTES} {_LIVING}
WHERE probe.endpoint_id = %(id)s AND probe.next_at <= %(now)s
FOR UPDATE OF probe
"""

_BEGIN: Final = """
UPDATE deliveries_endpointprobe SET tries = tries + 1, tried_at = %(now)s, next_at = %(next_at)s, said = ''
WHERE endpoint_id = %(id)s
"""

_POSTPONE: Final = """
UPDATE deliveries_endpointprobe SET next_at = greatest(next_at, %(next_at)s), said = %(said)s
WHERE endpoint_id = %(id)s AND next_at IS NOT NULL
"""

_ARRIVED: Final = """
UPDATE deliveries_endpointprobe SET arrived_at = %(now)s WHERE endpoint_id = %(id)s AND disabled_at = %(disabled_at)s
"""

_END: Final = """
UPDATE deliveries_endpointprobe SET next_at = NULL, said = %(said)s
WHERE endpoint_id = %(id)s AND disabled_at = %(disabled_at)s AND next_at IS NOT NULL
"""

Wait = Callable[[int, float], timedelta]
"""Tries so far and the first wait in minutes in, the next wait out."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A probe that this caller makes, and since when its endpoint has been disabled."""

    endpoint_id: int
    disabled_at: datetime


def plan(first_minutes: float, wait: Wait) -> int:
    """Note when endpoints that the rule has disabled are first tried; returns how many were new.

    `first_minutes` holds for endpoints that name none of their own.
    """
    planned = 0
    with connection.cursor() as cursor:
        cursor.execute(_UNPLANNED, {"rule": RULE, "minutes": first_minutes})
        for id, disabled_at, minutes, tries in cursor.fetchall():
            next_at = disabled_at + wait(tries, minutes)
            cursor.execute(_PLAN, {"id": id, "disabled_at": disabled_at, "next_at": next_at, "tries": tries})
            planned += cursor.rowcount
    return planned


def due(first_minutes: float, now: datetime, most: int) -> list[int]:
    """Endpoints whose probe is due and for which a delivery is held, longest overdue first."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"rule": RULE, "minutes": first_minutes, "now": now, "most": most})
        return [row[0] for row in cursor.fetchall()]


def begin(endpoint_id: int, first_minutes: float, now: datetime, wait: Wait) -> Begun | None:
    """Take a due probe, and note when the one after it comes; None when it is not due any more. In a transaction.

    The next time is written first, so that a worker that dies over a probe costs one wait.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FIND, {"rule": RULE, "minutes": first_minutes, "id": endpoint_id, "now": now})
        row = cursor.fetchone()
        if row is None:
            return None
        disabled_at, tries, minutes = row
        cursor.execute(_BEGIN, {"id": endpoint_id, "now": now, "next_at": now + wait(tries + 1, minutes)})
        return Begun(endpoint_id, disabled_at)


def postpone(endpoint_id: int, until: datetime, said: str) -> None:
    """Do not try it before `until`, with the reason."""
    _write(_POSTPONE, {"id": endpoint_id, "next_at": until, "said": said})


def end(begun: Begun, said: str) -> bool:
    """Never try it again by itself; says whether this was the one that ended it."""
    return _write(_END, {"id": begun.endpoint_id, "disabled_at": begun.disabled_at, "said": said})


def arrived(begun: Begun, now: datetime) -> None:
    """Note that this one enables the endpoint, for the case that it does not last."""
    _write(_ARRIVED, {"id": begun.endpoint_id, "disabled_at": begun.disabled_at, "now": now})


def _write(statement: str, values: dict[str, Any]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.rowcount)
