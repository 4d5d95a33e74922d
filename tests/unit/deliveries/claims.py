"""Claimed deliveries, recipients and results from nowhere, for tests of a drain's parts."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID

from deliveries.outcomes import Exchange, Outcome, judge
from deliveries.recipients import Recipient
from deliveries.statuses import Status
from deliveries.transitions.claim import Claimed
from deliveries.transitions.settle import Result
from endpoints.policies import Policy

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

_numbers = count(1)


def a_recipient(**fields: Any) -> Recipient:
    """An active endpoint without a limit."""
    values: dict[str, Any] = {
        "id": 7,
        "url": "https://a.example/hook",
        "host": "https://a.example",
        "state": "active",
        "policy": Policy("default"),
        "timeout_seconds": 5.0,
        "max_concurrency": 8,
        "rate_limit_per_second": None,
        "secrets": ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",),
        "headers": {},
    }
    return Recipient(**values | fields)


def a_claim(**fields: Any) -> Claimed:
    """A delivery under lease, its first attempt to be made."""
    claimed = Claimed(
        id=next(_numbers),
        endpoint_id=7,
        event_id="evt_1",
        number=1,
        budget_number=1,
        deadline_at=datetime(2026, 6, 4, 12, tzinfo=UTC),
        claimed_at=NOON,
        token=UUID(int=1),
        body=b"{}",
    )
    return replace(claimed, **fields)


def a_result(claimed: Claimed | None = None, status: Status = Status.DELIVERED, outcome: str = "delivered") -> Result:
    """An attempt that was made."""
    return Result(claimed or a_claim(), status, outcome, "said so", started_at=NOON, duration_ms=10)


def judged(claimed: Claimed, exchange: Exchange) -> tuple[Result, Outcome]:
    """What an attempt that ended like this reports."""
    outcome = judge(exchange, now=NOON)
    status = {"final": Status.DELIVERED, "transient": Status.PENDING, "permanent": Status.DEAD}[outcome.permanence]
    return replace(a_result(claimed, status, outcome.kind), duration_ms=exchange.duration_ms), outcome
