"""Minutes → totals: what a minute came to is added to the totals once nobody writes to it any more.

Rollups are folded and deleted, so what they add up to goes down. Counters may not: they are the totals and, on top,
the minutes that are not closed yet.
"""

from typing import Final

from django.db import connection, transaction

from deliveries.transitions.sums import SERIES, SUMMED, SUMS

LATEST_SECONDS: Final = 60
"""Results count into the minute in which their transaction began, so a minute closes when none that began within it is
left; this long after its end at the latest, so that a dump of the database does not hold it open. A recording that
takes longer than that has lost its leases; if it still wins, it is in the rollups and not in the totals."""

BEGINNING_SECONDS: Final = 5
"""A transaction takes less to show itself after it began."""

HOURS_PER_RUN: Final = 100
"""A bound; after a pause of days the next run goes on."""

# The first minute of all is where the totals begin; an hour's grace for one that is being written just now.
_BEGIN: Final = f"""
INSERT INTO deliveries_traffictotal (id, closed_until, {", ".join([*SUMS, *SERIES])})
SELECT 1, least(min(starts_at), date_trunc('minute', now()) - interval '1 hour'),
       {", ".join(["0"] * len(SUMS) + ["'{}'"] * len(SERIES))}
FROM deliveries_endpointspan WHERE minutes = 1
ON CONFLICT DO NOTHING
"""  # noqa: S608  # the columns are constants of ours
_LOCK: Final = "SELECT closed_until FROM deliveries_traffictotal WHERE id = 1 FOR UPDATE"
_CLOSE: Final = f"""
WITH running AS (
    SELECT min(xact_start) AS since FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
), span AS (
    SELECT least(%(since)s + interval '1 hour', date_trunc('minute', greatest(
               now() - make_interval(secs => %(latest)s),
               least(now() - make_interval(secs => %(beginning)s), running.since)))) AS ends_at
    FROM running
), closed AS (
    SELECT {SUMMED} FROM deliveries_endpointspan, span
    WHERE minutes = 1 AND starts_at >= %(since)s AND starts_at < span.ends_at
)
UPDATE deliveries_traffictotal total
SET closed_until = span.ends_at,
    {", ".join(f"{name} = total.{name} + closed.{name}" for name in SUMS)},
    {", ".join(f"{name} = holdfast_add_counts(total.{name}, closed.{name})" for name in SERIES)}
FROM span, closed WHERE total.id = 1 AND span.ends_at > %(since)s
"""  # noqa: S608  # the columns are constants of ours


def close_minutes() -> int:
    """Add what has ended, up to an hour's minutes at a time; returns how many steps that took. Safe to run twice."""
    for step in range(HOURS_PER_RUN):
        with transaction.atomic():
            if not _close_an_hour():
                return step
    return HOURS_PER_RUN


def _close_an_hour() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN)
        cursor.execute(_LOCK)
        [(since,)] = cursor.fetchall()
        # A second run waits for the lock and then begins where the first one ended.
        bounds = {"latest": LATEST_SECONDS, "beginning": BEGINNING_SECONDS, "since": since}
        cursor.execute(_CLOSE, bounds)
        return bool(cursor.rowcount)
