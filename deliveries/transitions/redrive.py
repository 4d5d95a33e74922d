"""dead → pending: deliveries of open dead letters go back to work with a fresh budget and a fresh deadline."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from deliveries import lines
from deliveries.transitions.pace import Pace
from endpoints.policies import DEFAULT_POLICY


@dataclass(frozen=True, slots=True)
class Redriven:
    """One dead letter that went back to work. `endpoint_state` other than `active` means it waits for the endpoint."""

    dead_letter_id: int
    endpoint_id: int
    endpoint_state: str
    delivery_id: int
    event_id: str
    next_attempt_at: datetime


# One statement decides and resolves. The letter's row lock settles who is first: whoever waits for it finds the letter
# no longer open, so two people pressing the button send once.
_REDRIVE = """
WITH locked AS (
    SELECT id, delivery_id FROM deliveries_deadletter
    WHERE id = ANY(%(letters)s) AND resolution = 'open'
    ORDER BY id
    FOR UPDATE
), letter AS (
    SELECT id, delivery_id, now() + make_interval(secs => %(start)s + %(step)s * (row_number() OVER (ORDER BY id) - 1))
        AS due_at
    FROM locked
), moved AS (
    UPDATE deliveries_delivery delivery
    SET status = 'pending', budget_offset = attempt_count, next_attempt_at = letter.due_at, finished_at = NULL,
        operation_id = %(operation)s,
        deadline_at = letter.due_at + make_interval(secs => coalesce(policy.deadline_seconds, %(default_deadline)s))
    FROM letter, endpoints_endpoint endpoint
    LEFT JOIN endpoints_retrypolicy policy
      ON policy.id = coalesce(endpoint.retry_policy_id, (SELECT id FROM endpoints_retrypolicy WHERE name = 'default'))
    WHERE delivery.id = letter.delivery_id AND delivery.status = 'dead'
      AND endpoint.id = delivery.endpoint_id AND endpoint.state <> 'archived'
    RETURNING letter.id AS letter_id, delivery.endpoint_id, endpoint.state, delivery.id, delivery.event_id,
              delivery.next_attempt_at
), resolved AS (
    UPDATE deliveries_deadletter dead_letter
    SET resolution = 'redriven', resolved_at = now(), operation_id = %(operation)s
    FROM moved WHERE dead_letter.id = moved.letter_id
)
SELECT * FROM moved ORDER BY letter_id
"""


def redrive(dead_letter_ids: Sequence[int], operation_id: int, pace: Pace) -> list[Redriven]:
    """Send the open ones among these dead letters back to work, under the operation; returns those that were won."""
    asked: dict[str, Any] = {
        "letters": list(dead_letter_ids),
        "operation": operation_id,
        "start": float(pace.start_seconds),
        "step": float(pace.step_seconds),
        "default_deadline": DEFAULT_POLICY.deadline_seconds,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REDRIVE, asked)
        redriven = [Redriven(*row) for row in cursor.fetchall()]
    lines.REDRIVEN.say_on_commit(asdict(row) | {"operation_id": operation_id} for row in redriven)
    return redriven
