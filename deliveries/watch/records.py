"""The last hour of every endpoint that is sent to, as the health verdict wants it: one statement over the rollups."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

from deliveries.conf import conf
from deliveries.histograms import by_kind
from deliveries.transitions.sums import summed
from endpoints.health import Level, Record
from endpoints.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class Recorded:
    """An endpoint's hour, its thresholds, its last level, and when its state last changed.

    `last_success_at` is the minute of the last acknowledgement within the hour.
    """

    endpoint_id: int
    record: Record
    thresholds: Thresholds
    before: Level
    state_changed_at: datetime
    last_success_at: datetime | None


# Minutes that began before the state last changed are another life of the endpoint and do not count. The first and the
# last minute of a stretch are counted in full, in the endpoint's favour: it is silent a minute later, not earlier.
_RECORDS: Final = f"""
WITH judged AS (
    SELECT endpoint.id, endpoint.health_thresholds, endpoint.state_changed_at, span.*,
           span.starts_at + interval '1 minute' > %(now)s - make_interval(
               secs => 60 * coalesce((endpoint.health_thresholds->>'silent_minutes')::float8, %(silent_minutes)s)
           ) AS is_recent
    FROM endpoints_endpoint endpoint
    JOIN (SELECT endpoint_id, starts_at, delivered, failed_by_kind FROM deliveries_endpointspan
          WHERE minutes = 1 AND starts_at > %(now)s - interval '1 hour' AND starts_at <= %(now)s
         ) AS span ON span.endpoint_id = endpoint.id
    WHERE endpoint.state = 'active'
      AND (endpoint.state_changed_by = '' OR span.starts_at >= endpoint.state_changed_at)
)
SELECT judged.id, judged.health_thresholds, judged.state_changed_at, coalesce(health.level, 'unknown'),
       sum(delivered)::bigint, {summed("failed_by_kind")},
       coalesce(sum(delivered) FILTER (WHERE is_recent), 0)::bigint,
       {summed("failed_by_kind", "is_recent")},
       greatest(extract(epoch FROM %(now)s - min(starts_at)) / 60 - 1, 0)::float8,
       max(starts_at) FILTER (WHERE delivered > 0), coalesce(bool_or(certificate.ends_at <= %(now)s), false)
FROM judged LEFT JOIN deliveries_endpointhealth health ON health.endpoint_id = judged.id
LEFT JOIN deliveries_endpointcertificate certificate ON certificate.endpoint_id = judged.id
GROUP BY judged.id, judged.health_thresholds, judged.state_changed_at, health.level
ORDER BY judged.id
"""  # noqa: S608  # the columns are constants of ours


def records(now: datetime) -> list[Recorded]:
    """Every active endpoint with an attempt in the hour before `now` (aware)."""
    general = conf().thresholds
    with connection.cursor() as cursor:
        cursor.execute(_RECORDS, {"now": now, "silent_minutes": general.silent_minutes})
        return [_recorded(row, general) for row in cursor.fetchall()]


def _recorded(row: tuple[Any, ...], general: Thresholds) -> Recorded:
    id, own, changed_at, level, delivered, failed, recently_delivered, recently_failed, active, success_at, is_over = (
        row
    )
    record = Record(
        delivered=delivered,
        failed=_named(failed),
        recently_delivered=recently_delivered,
        minutes_active=active,
        recently_failed=_named(recently_failed),
        is_certificate_over=is_over,
    )
    return Recorded(id, record, general.overridden(json.loads(own)), Level(level), changed_at, success_at)


def _named(counts: Sequence[int]) -> dict[str, int]:
    return {str(kind): count for kind, count in by_kind(counts).items()}
