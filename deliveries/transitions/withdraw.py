"""pending → dead or delivered: a stopped redrive or replay calls back what it has not sent yet.

Each goes back to where the operation found it: a redriven delivery to its dead letter, which is open again; a replayed
one to delivered; one that an endpoint had missed is taken away, as it was never there.
"""

from collections import Counter
from dataclasses import dataclass

from django.db import connection

from deliveries import lines


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """How many deliveries went back, by where they went."""

    dead: int = 0
    delivered: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        return self.dead + self.delivered + self.removed


# Only what waits for its first attempt of this operation: anything tried has left traces that must run their course.
_WITHDRAW = """
WITH chosen AS (
    SELECT id, attempt_count = 0 AS is_new,
           EXISTS (SELECT FROM deliveries_deadletter letter
                   WHERE letter.delivery_id = delivery.id AND letter.operation_id = %(operation)s) AS is_redriven
    FROM deliveries_delivery delivery
    WHERE operation_id = %(operation)s AND status = 'pending' AND attempt_count = budget_offset
    ORDER BY id LIMIT %(rows)s
    FOR UPDATE SKIP LOCKED
), reopened AS (
    UPDATE deliveries_deadletter letter SET resolution = 'open', resolved_at = NULL, operation_id = NULL
    FROM chosen
    WHERE chosen.is_redriven AND letter.delivery_id = chosen.id AND letter.operation_id = %(operation)s
      AND letter.resolution = 'redriven'
), dead AS (
    UPDATE deliveries_delivery delivery
    SET status = 'dead', next_attempt_at = NULL, finished_at = now(), operation_id = NULL
    FROM chosen WHERE delivery.id = chosen.id AND chosen.is_redriven
    RETURNING delivery.id, delivery.event_id, delivery.endpoint_id
), delivered AS (
    UPDATE deliveries_delivery delivery
    SET status = 'delivered', next_attempt_at = NULL, finished_at = now(), operation_id = NULL
    FROM chosen WHERE delivery.id = chosen.id AND NOT chosen.is_redriven AND NOT chosen.is_new
    RETURNING delivery.id, delivery.event_id, delivery.endpoint_id
), removed AS (
    DELETE FROM deliveries_delivery delivery
    USING chosen WHERE delivery.id = chosen.id AND NOT chosen.is_redriven AND chosen.is_new
    RETURNING delivery.id, delivery.event_id, delivery.endpoint_id
)
SELECT *, 'dead' FROM dead UNION ALL SELECT *, 'delivered' FROM delivered UNION ALL SELECT *, 'removed' FROM removed
ORDER BY id
"""


def withdraw(operation_id: int, rows: int) -> Withdrawn:
    """Call back up to `rows` deliveries of an operation; call it until nothing goes back any more."""
    with connection.cursor() as cursor:
        cursor.execute(_WITHDRAW, {"operation": operation_id, "rows": rows})
        back = cursor.fetchall()
    lines.WITHDRAWN.say_on_commit(_facts(operation_id, *row) for row in back)
    return Withdrawn(**Counter(row[3] for row in back))


def _facts(operation_id: int, delivery_id: int, event_id: str, endpoint_id: int, back_to: str) -> dict[str, object]:
    return {
        "delivery_id": delivery_id,
        "event_id": event_id,
        "endpoint_id": endpoint_id,
        "operation_id": operation_id,
        "back_to": back_to,
    }
