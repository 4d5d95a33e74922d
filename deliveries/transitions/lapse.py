"""sending → pending or dead: a lease ran out, so the worker that held the delivery died or lost touch.

The attempt was counted before it was made, so a delivery that kills its worker every time spends its budget like any
other and ends as a dead letter.
"""

from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from deliveries import lines
from deliveries.transitions.orphaned import Orphan, bury_orphans

BACKOFF_SECONDS: Final = 5.0
"""The longest first wait after a lapse, doubled with each attempt: the endpoint did nothing wrong, so it is small."""

BACKOFF_CAP_SECONDS: Final = 300.0
"""No wait after a lapse is longer; by then whatever kills the workers has been seen often enough."""

REASON: Final = "The worker stopped before it recorded a result; the request may have reached the endpoint."


@dataclass(frozen=True, slots=True)
class Lapsed:
    """How many deliveries lost their lease; which endpoints got work back; the dead letters that were written."""

    count: int
    endpoint_ids: frozenset[int]
    dead_letter_ids: tuple[int, ...]


# Rows that a late worker is settling at this moment are skipped: it wins. The real start is unknown, the end of the
# lease stands in for it. Waits are jittered because one dead worker drops many deliveries at the same moment.
_LAPSE = """
WITH lapsed AS (
    SELECT id, lease_expires_at FROM deliveries_delivery
    WHERE status = 'sending' AND lease_expires_at <= now()
    ORDER BY lease_expires_at
    LIMIT %(page)s
    FOR UPDATE SKIP LOCKED
), moved AS (
    UPDATE deliveries_delivery delivery
    SET status = CASE WHEN attempt_count - budget_offset >= policy.max_attempts THEN 'dead' ELSE 'pending' END,
        next_attempt_at = CASE WHEN attempt_count - budget_offset < policy.max_attempts THEN now() + make_interval(
            secs => least(%(cap)s, %(base)s * 2 ^ least(attempt_count - budget_offset - 1, 30))
                    * (0.5 + random() / 2)) END,
        finished_at = CASE WHEN attempt_count - budget_offset >= policy.max_attempts THEN now() END,
        lease_token = NULL, lease_expires_at = NULL, last_outcome = 'unknown'
    FROM lapsed, endpoints_endpoint endpoint
    JOIN endpoints_retrypolicy policy
      ON policy.id = coalesce(endpoint.retry_policy_id, (SELECT id FROM endpoints_retrypolicy WHERE name = 'default'))
    WHERE delivery.id = lapsed.id AND delivery.status = 'sending' AND endpoint.id = delivery.endpoint_id
    RETURNING delivery.id, delivery.endpoint_id, delivery.event_id, delivery.status, delivery.attempt_count,
              delivery.next_attempt_at, lapsed.lease_expires_at AS started_at, endpoint.url, policy.name AS policy,
              policy.max_attempts
), written AS (
    INSERT INTO deliveries_attempt (delivery_id, number, started_at, duration_ms, outcome, reason, host, address,
                                    retry_after, snippet)
    SELECT id, attempt_count, started_at, 0, 'unknown', %(reason)s,
           coalesce(substring(url from '^[a-z]+://[^/?#]+'), ''), '', '', ''
    FROM moved ORDER BY id
)
SELECT id, endpoint_id, event_id, status, attempt_count, next_attempt_at, url, policy, max_attempts
FROM moved ORDER BY id
"""

# The first columns of a row, which its line has too.
_TOLD: Final = ("delivery_id", "endpoint_id", "event_id", "status", "attempt", "next_attempt_at")


def lapse(page: int) -> Lapsed:
    """Take back up to `page` deliveries whose lease has run out, longest overdue first."""
    values: dict[str, Any] = {
        "page": page,
        "base": BACKOFF_SECONDS,
        "cap": BACKOFF_CAP_SECONDS,
        "reason": REASON,
    }
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_LAPSE, values)
            rows = cursor.fetchall()
        lines.LAPSED.say_on_commit(dict(zip(_TOLD, row, strict=False)) for row in rows)
        buried = bury_orphans([_orphan(row[0], row[1], row[2], *row[6:]) for row in rows if row[3] == "dead"])
    return Lapsed(len(rows), frozenset(row[1] for row in rows if row[3] == "pending"), tuple(buried))


def _orphan(delivery_id: int, endpoint_id: int, event_id: str, url: str, policy: str, max_attempts: int) -> Orphan:
    reason = f"All {max_attempts} attempts of policy {policy} are spent. Last: {REASON}"
    return Orphan(delivery_id, endpoint_id, event_id, url, "unknown", reason)
