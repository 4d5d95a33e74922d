"""What `deliveries` knows of an endpoint, for `endpoint show`: its pace with the reason, and what waits or was lost."""

from typing import Any

from redis import RedisError

from deliveries.models import DeadLetter, Delivery, Resolution
from deliveries.pacing import Flow, describe
from deliveries.statuses import Status
from endpoints.models import Endpoint

COUNTED = 100_000
"""Counts stop here: a look at an endpoint must not read a whole backlog."""


def traffic(endpoint: Endpoint) -> dict[str, Any]:
    """Figures and sentences; the pace is unknown while Redis is away."""
    waiting = Delivery.objects.filter(endpoint=endpoint, status=Status.PENDING)
    letters = DeadLetter.objects.filter(endpoint=endpoint, resolution=Resolution.OPEN)
    counts = {
        "deliveries_waiting": waiting[:COUNTED].count(),
        "open_dead_letters": letters[:COUNTED].count(),
    }
    try:
        flow = describe([endpoint.pk])[endpoint.pk]
    except RedisError:
        return {"pace": "Unknown: Redis does not answer."} | counts
    return _pace(flow, endpoint.rate_limit_per_second) | counts


def _pace(flow: Flow, limit: float | None) -> dict[str, Any]:
    return {
        "pace": flow.sentence(limit),
        "circuit": flow.circuit,
        "failures_in_a_row": flow.failures_in_a_row,
        "rate_now_per_second": flow.rate_now(limit),
        "held_for_seconds": flow.wait_seconds or None,
        "ramp_reason": flow.ramp_reason if flow.ramp_seconds is not None else "",
        "queue": flow.queue,
        "being_drained": flow.is_draining,
    }
