"""Rows for tests, made the way the product makes them."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

from django.utils import timezone

from deliveries import publish
from deliveries.histograms import FAILURE_KINDS
from deliveries.models import DeadLetter, Delivery, EndpointSpan, Event
from deliveries.outcomes import Kind
from deliveries.statuses import Status
from deliveries.transitions.bury import Burial
from deliveries.transitions.claim import Claimed, Wish, claim
from deliveries.transitions.settle import Result, settle
from endpoints.models import Endpoint, RetryPolicy
from endpoints.policies import Policy

_numbers = count(1)


def make_endpoint(**fields: Any) -> Endpoint:
    """An active endpoint that wants every event of the tenant."""
    fields.setdefault("url", f"http://127.0.0.1:9/hooks/{next(_numbers)}?token=SECRET")
    return Endpoint.objects.create(**fields)


def ensure_policy(policy: Policy) -> None:
    """The retry policy as a row, unless there is one of its name."""
    fields = asdict(policy) | {"schedule_seconds": list(policy.schedule_seconds)}
    RetryPolicy.objects.get_or_create(name=fields.pop("name"), defaults=fields)


def make_event(type: str = "payment.completed", data: Any = None, **fields: Any) -> Event:
    """A published event, with a delivery for each endpoint that matches it now."""
    return publish(type, {"n": next(_numbers)} if data is None else data, **fields)


def make_dead_letter(endpoint: Endpoint | None = None, *, kind: Kind = Kind.REJECTED, **event: Any) -> DeadLetter:
    """A delivery that was claimed, refused by the endpoint and buried."""
    endpoint = endpoint or make_endpoint()
    published = make_event(tenant=endpoint.tenant, **event)
    finish([take(endpoint, published)], kind=kind)
    return DeadLetter.objects.get(delivery__event=published, delivery__endpoint=endpoint)


def make_delivered(endpoint: Endpoint | None = None, **event: Any) -> Delivery:
    """A delivery that arrived."""
    endpoint = endpoint or make_endpoint()
    published = make_event(tenant=endpoint.tenant, **event)
    finish([take(endpoint, published)], kind=Kind.DELIVERED)
    return Delivery.objects.get(event=published, endpoint=endpoint)


def take(endpoint: Endpoint, event: Event, *, lease_seconds: float = 60) -> Claimed:
    """Claim what is due for the endpoint, as a worker does, and return the claim of this event."""
    wish = Wish(rows=1000, lease_seconds=lease_seconds)
    return next(row for row in claim({endpoint.pk: wish}) if row.event_id == event.pk)


def finish(claims: Sequence[Claimed], *, kind: Kind) -> None:
    """Record the result of claimed deliveries: delivered, or given up with a dead letter."""
    settle([_result(claimed, kind) for claimed in claims])


def backdate(delivery: Delivery, **ages: timedelta) -> None:
    """Move the delivery's times into the past: `backdate(delivery, deadline_at=timedelta(seconds=5))`."""
    Delivery.objects.filter(pk=delivery.pk).update(**{name: timezone.now() - age for name, age in ages.items()})


def lease(delivery: Delivery, *, expires_in: timedelta) -> None:
    """Put a pending delivery under the lease of a worker that is gone."""
    Delivery.objects.filter(pk=delivery.pk).update(
        status=Status.SENDING,
        attempt_count=delivery.attempt_count + 1,
        next_attempt_at=None,
        lease_token=uuid4(),
        lease_expires_at=timezone.now() + expires_in,
    )
    delivery.refresh_from_db()


def make_span(
    endpoint: Endpoint,
    at: datetime,
    *,
    minutes: int = 1,
    delivered: int = 0,
    failed: dict[str, int] | None = None,
    **counts: Any,
) -> EndpointSpan:
    """The rollup of an endpoint's minute (or hour); `failed` by class, other counts by bucket."""
    kinds = [(failed or {}).get(kind.value, 0) for kind in FAILURE_KINDS]
    series = {name: [] for name in ("delivered_by_number", "attempt_ms", "end_to_end_ms")} | counts
    return EndpointSpan.objects.create(
        endpoint=endpoint,
        minutes=minutes,
        starts_at=at,
        attempts=delivered + sum(kinds),
        delivered=delivered,
        failed_by_kind=kinds,
        **series,
    )


def _result(claimed: Claimed, kind: Kind) -> Result:
    arrived = kind is Kind.DELIVERED
    reason = "The endpoint answered 200." if arrived else "The endpoint answered 400."
    return Result(
        claimed=claimed,
        status=Status.DELIVERED if arrived else Status.DEAD,
        outcome=kind,
        reason=reason,
        started_at=timezone.now(),
        duration_ms=7,
        status_code=200 if arrived else 400,
        burial=None if arrived else Burial(claimed.id, kind, reason, "http://127.0.0.1:9/hooks?token=SECRET", {}),
    )
