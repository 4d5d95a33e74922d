"""Rollups: counted with the results, folded to hours, deleted in time."""

from datetime import timedelta

import pytest
from django.utils import timezone

from deliveries.histograms import ATTEMPT_MS, END_TO_END_MS, by_kind
from deliveries.models import Delivery, EndpointSpan
from deliveries.outcomes import Kind
from deliveries.sweeps import rollups
from deliveries.transitions.fold import fold_hour
from tests.factories import backdate, finish, make_endpoint, make_event, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def deliver(endpoint, *kinds):
    for kind in kinds:
        finish([take(endpoint, make_event(tenant=endpoint.tenant))], kind=kind)


def test_results_are_counted_into_the_minute_of_their_endpoint():
    endpoint, other = make_endpoint(), make_endpoint(tenant="other")
    deliver(endpoint, Kind.DELIVERED, Kind.DELIVERED, Kind.REJECTED)
    deliver(other, Kind.AUTH)

    span = EndpointSpan.objects.get(endpoint=endpoint)

    assert (span.minutes, span.attempts, span.delivered) == (1, 3, 2)
    assert span.starts_at.second == 0
    assert by_kind(span.failed_by_kind) == {Kind.REJECTED: 1}
    assert by_kind(EndpointSpan.objects.get(endpoint=other).failed_by_kind) == {Kind.AUTH: 1}
    assert sum(span.attempt_ms) == 3
    assert len(span.attempt_ms) == len(ATTEMPT_MS) + 1


def test_end_to_end_is_measured_from_the_recording_of_the_delivery():
    endpoint = make_endpoint()
    event = make_event()
    backdate(Delivery.objects.get(event=event), created_at=timedelta(seconds=45))

    finish([take(endpoint, event)], kind=Kind.DELIVERED)

    counts = EndpointSpan.objects.get().end_to_end_ms
    assert counts[END_TO_END_MS.index(60_000)] == sum(counts) == 1


def test_the_attempt_that_succeeded_is_counted_by_its_number():
    endpoint = make_endpoint()
    event = make_event()
    Delivery.objects.filter(event=event).update(attempt_count=3)

    finish([take(endpoint, event)], kind=Kind.DELIVERED)

    # Buckets: 1, 2, 3, 4-5, 6-10, more.
    assert EndpointSpan.objects.get().delivered_by_number == [0, 0, 0, 1, 0, 0]


def test_a_result_that_lost_its_lease_is_not_counted():
    endpoint = make_endpoint()
    event = make_event()
    claimed = take(endpoint, event)
    Delivery.objects.filter(event=event).update(
        status="pending", lease_token=None, lease_expires_at=None, next_attempt_at=timezone.now()
    )

    finish([claimed], kind=Kind.DELIVERED)

    assert not EndpointSpan.objects.exists()


def span_at(endpoint, at, **fields):
    counts = {"attempts": 2, "delivered": 1, "delivered_by_number": [1, 0], "failed_by_kind": [0, 1]}
    latencies = {"attempt_ms": [2, 0], "end_to_end_ms": [1, 0]}
    return EndpointSpan.objects.create(endpoint=endpoint, minutes=1, starts_at=at, **counts | latencies | fields)


def test_old_minutes_become_one_hour_and_nothing_is_lost_or_counted_twice():
    endpoint = make_endpoint()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=3)
    for minute in (0, 1, 59):
        span_at(endpoint, hour + timedelta(minutes=minute), delivered_by_number=[1, 0, 5][: 2 + minute % 2])
    young = span_at(endpoint, timezone.now())

    assert rollups.sweep().folded == 3
    assert rollups.sweep().folded == 0

    folded = EndpointSpan.objects.get(minutes=60)
    assert (folded.starts_at, folded.attempts, folded.delivered) == (hour, 6, 3)
    assert folded.delivered_by_number == [3, 0, 10]
    assert folded.failed_by_kind == [0, 3]
    assert EndpointSpan.objects.filter(minutes=1).get() == young


def test_a_straggler_is_added_to_its_hour():
    endpoint = make_endpoint()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(days=3)
    span_at(endpoint, hour)
    fold_hour(timezone.now() - timedelta(days=2))
    span_at(endpoint, hour + timedelta(minutes=5))

    fold_hour(timezone.now() - timedelta(days=2))

    assert EndpointSpan.objects.get().attempts == 4


def test_hours_are_deleted_when_they_are_old():
    endpoint = make_endpoint()
    EndpointSpan.objects.create(
        endpoint=endpoint,
        minutes=60,
        starts_at=timezone.now() - timedelta(days=91),
        attempts=1,
        delivered=0,
        delivered_by_number=[],
        failed_by_kind=[],
        attempt_ms=[],
        end_to_end_ms=[],
    )

    assert rollups.sweep().deleted == 1
    assert not EndpointSpan.objects.exists()
