"""Everything that was attempted since the totals began: numbers that never go down, for counters."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from django.db import connection

from deliveries.histograms import add
from deliveries.transitions.sums import BUCKETS, SERIES, SUMMED, SUMS

_COLUMNS: Final = (*SUMS, *SERIES)

# One statement, so that a minute which is closed meanwhile is counted in one of the two and not in both.
_READ: Final = f"""
WITH total AS (SELECT * FROM deliveries_traffictotal),
open AS (
    SELECT {SUMMED} FROM deliveries_endpointspan
    WHERE minutes = 1 AND starts_at >= coalesce((SELECT closed_until FROM total), '-infinity')
)
SELECT {", ".join(f"open.{name}" for name in _COLUMNS)}, {", ".join(f"total.{name}" for name in _COLUMNS)}
FROM open LEFT JOIN total ON true
"""  # noqa: S608  # the columns are constants of ours


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts, and counts for each bucket of `deliveries.histograms`. The sums are milliseconds."""

    attempts: int
    delivered: int
    retries: int
    attempt_ms_total: int
    end_to_end_ms_total: int
    delivered_by_number: Sequence[int]
    failed_by_kind: Sequence[int]
    attempt_ms: Sequence[int]
    end_to_end_ms: Sequence[int]


assert tuple(field.name for field in fields(Totals)) == _COLUMNS


def totals() -> Totals:
    """The totals of the closed minutes and what the open ones came to so far."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        row = cursor.fetchone()
    half = len(_COLUMNS)
    now, before = dict(zip(_COLUMNS, row[:half], strict=True)), dict(zip(_COLUMNS, row[half:], strict=True))
    found: dict[str, Any] = {name: now[name] + (before[name] or 0) for name in SUMS}
    found |= {name: add(add(now[name], before[name] or []), [0] * BUCKETS[name]) for name in SERIES}
    return Totals(**found)
