"""Minutes → hours, hours → gone: rollups get coarser with age, then they go."""

from datetime import datetime

from django.db import connection

# An hour is folded when all its minutes are old. The delete returns what the insert adds up, so a minute is counted
# once however often this runs, and two runs at once share nothing.
_FOLD = """
WITH hour AS (
    SELECT date_trunc('hour', min(starts_at)) AS starts_at FROM deliveries_endpointspan
    WHERE minutes = 1 AND starts_at < date_trunc('hour', %(before)s::timestamptz)
), taken AS (
    DELETE FROM deliveries_endpointspan span USING hour
    WHERE span.minutes = 1 AND span.starts_at >= hour.starts_at
      AND span.starts_at < hour.starts_at + interval '1 hour'
    RETURNING span.*
), folded AS (
    INSERT INTO deliveries_endpointspan AS span (endpoint_id, minutes, starts_at, attempts, delivered,
                                                 delivered_by_number, failed_by_kind, attempt_ms, end_to_end_ms)
    SELECT endpoint_id, 60, date_trunc('hour', starts_at), sum(attempts), sum(delivered),
           holdfast_sum_counts(delivered_by_number), holdfast_sum_counts(failed_by_kind),
           holdfast_sum_counts(attempt_ms), holdfast_sum_counts(end_to_end_ms)
    FROM taken GROUP BY endpoint_id, date_trunc('hour', starts_at) ORDER BY endpoint_id
    ON CONFLICT (endpoint_id, minutes, starts_at) DO UPDATE
    SET attempts = span.attempts + excluded.attempts, delivered = span.delivered + excluded.delivered,
        delivered_by_number = holdfast_add_counts(span.delivered_by_number, excluded.delivered_by_number),
        failed_by_kind = holdfast_add_counts(span.failed_by_kind, excluded.failed_by_kind),
        attempt_ms = holdfast_add_counts(span.attempt_ms, excluded.attempt_ms),
        end_to_end_ms = holdfast_add_counts(span.end_to_end_ms, excluded.end_to_end_ms)
)
SELECT count(*) FROM taken
"""
_DELETE = "DELETE FROM deliveries_endpointspan WHERE minutes = 60 AND starts_at < %s"


def fold_hour(before: datetime) -> int:
    """Fold the oldest hour of minutes that lies wholly before `before`; returns how many minutes those were."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, {"before": before})
        return int(cursor.fetchone()[0])


def delete_hours(before: datetime) -> int:
    """Delete the hours before `before`; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [before])
        return int(cursor.rowcount)
