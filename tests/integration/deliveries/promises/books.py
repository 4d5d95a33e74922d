"""A second set of books for the promises: what must be in the tables, kept beside what is."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from deliveries.transitions.claim import Claimed

OPEN, REDRIVEN, DISCARDED = "open", "redriven", "discarded"

_MOMENTS = {
    "deliveries_event": ("created_at", "occurred_at"),
    "deliveries_delivery": ("next_attempt_at", "deadline_at", "lease_expires_at", "created_at", "finished_at"),
    "deliveries_attempt": ("started_at",),
    "deliveries_deadletter": ("created_at", "resolved_at"),
}


@dataclass
class Account:
    """One delivery as it must be."""

    status: str = "pending"
    attempts_begun: int = 0
    budget_offset: int = 0
    token: UUID | None = None
    operation: int | None = None
    letters: list[str] = field(default_factory=list)
    pruned_attempts: set[int] = field(default_factory=set)

    @property
    def recorded_attempts(self) -> set[int]:
        """An attempt is written with its result: all that were begun, but for the one under a lease."""
        ended = self.attempts_begun - (self.status == "sending")
        return set(range(1, ended + 1)) - self.pruned_attempts

    @property
    def is_final(self) -> bool:
        return self.status in ("delivered", "dead")

    def is_held_by(self, claimed: Claimed) -> bool:
        """Whether the claim is still the newest one."""
        return self.status == "sending" and self.token == claimed.token

    def claim(self, claimed: Claimed) -> None:
        self.status, self.token = "sending", claimed.token
        self.attempts_begun += 1

    def end(self, status: str) -> None:
        """Leave the lease, or the queue, for `status`; death comes with a dead letter."""
        self.status, self.token = status, None
        if status == "dead":
            self.letters.append(OPEN)

    def hand_back(self) -> None:
        self.attempts_begun -= 1
        self.end("pending")

    def send_again(self, operation: int) -> None:
        self.status, self.operation, self.budget_offset = "pending", operation, self.attempts_begun


class Row(NamedTuple):
    """One delivery as it is."""

    id: int
    event: str
    endpoint: int
    status: str
    attempts_begun: int
    budget_offset: int
    token: str | None


@dataclass(frozen=True)
class Tables:
    """What is in the tables, by delivery id."""

    rows: dict[int, Row]
    attempts: dict[int, set[int]]
    letters: dict[int, list[str]]
    bodies: dict[str, str]


# One round trip, as it is made after every step. What is otherwise checked at the commit is checked now.
_READ = """
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
SELECT (SELECT json_agg(json_build_array(id, event_id, endpoint_id, status, attempt_count, budget_offset, lease_token))
        FROM deliveries_delivery),
       (SELECT json_agg(json_build_array(delivery_id, number)) FROM deliveries_attempt),
       (SELECT json_agg(json_build_array(delivery_id, resolution) ORDER BY id) FROM deliveries_deadletter),
       (SELECT json_agg(json_build_array(id, body)) FROM deliveries_event)
"""


def read_tables() -> Tables:
    """Raises IntegrityError when a row points to one that is gone."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        rows, attempts, letters, events = (found or [] for found in cursor.fetchone())
    tables = Tables({row[0]: Row(*row) for row in rows}, defaultdict(set), defaultdict(list), dict(events))
    for delivery, number in attempts:
        tables.attempts[delivery].add(number)
    for delivery, resolution in letters:
        tables.letters[delivery].append(resolution)
    return tables


def let_pass(duration: timedelta) -> None:
    """Move every moment in the tables into the past; `now()` stands still within a transaction."""
    with connection.cursor() as cursor:
        for table, columns in _MOMENTS.items():
            moves = ", ".join(f"{column} = {column} - %(duration)s" for column in columns)
            values: dict[str, Any] = {"duration": duration}
            cursor.execute(f"UPDATE {table} SET {moves}", values)  # noqa: S608 - our own names
