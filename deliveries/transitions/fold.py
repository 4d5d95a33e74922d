"""Minutes → hours, hours → gone: rollups get coarser with age, then they go."""

from datetime import datetime
from typing import Final

from django.db import connection

from deliveries.transitions.sums import SERIES, SUMS

# An hour is folded when all its minutes are old, and in the totals: what counts there must not count as an hour that
# is open. The delete returns what the insert adds up, so a minute is counted once however often this runs, and two runs
# at once share nothing.
_FOLD: Final = f"""
WITH hour AS (
    SELECT date_trunc('hour', min(starts_at)) AS starts_at FROM deliveries_endpointspan
    WHERE minutes = 1
      AND starts_at < date_trunc('hour', least(%(before)s, (SELECT closed_until FROM deliveries_traffictotal)))
), taken AS (
    DELETE FROM deliveries_endpointspan span USING hour
    WHERE span.minutes = 1 AND span.starts_at >= hour.starts_at
      AND span.starts_at < hour.starts_at + interval '1 hour'
    RETURNING span.*
), folded AS (
    INSERT INTO deliveries_endpointspan AS span (endpoint_id, minutes, starts_at, {", ".join([*SUMS, *SERIES])})
    SELECT endpoint_id, 60, date_trunc('hour', starts_at),
           {", ".join(f"sum({name})" for name in SUMS)},
           {", ".join(f"holdfast_sum_counts({name})" for name in SERIES)}
    FROM taken GROUP BY endpoint_id, date_trunc('hour', starts_at) ORDER BY endpoint_id
    ON CONFLICT (endpoint_id, minutes, starts_at) DO UPDATE
    SET {", ".join(f"{name} = span.{name} + excluded.{name}" for name in SUMS)},
        {", ".join(f"{name} = holdfast_add_counts(span.{name}, excluded.{name})" for name in SERIES)}
)
SELECT count(*) FROM taken
"""  # noqa: S608  # the columns are constants of ours
_DELETE = "DELETE FROM deliveries_endpointspan WHERE minutes = 60 AND starts_at < %s"


def fold_hour(before: datetime) -> int:
    """Fold the oldest hour of minutes that is closed and lies before `before`; returns how many minutes those were."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, {"before": before})
        return int(cursor.fetchone()[0])


def delete_hours(before: datetime) -> int:
    """Delete the hours before `before`; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [before])
        return int(cursor.rowcount)
