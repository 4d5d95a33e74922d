"""Leases that ran out: the worker died, the delivery goes on, and never for ever."""

from datetime import timedelta

import pytest
from django.utils import timezone

from deliveries.models import Attempt, DeadLetter, Delivery
from deliveries.outcomes import Kind
from deliveries.statuses import Status
from deliveries.transitions import lapse as lapsing
from deliveries.transitions.lapse import lapse
from endpoints.models import RetryPolicy
from tests.factories import finish, lease, make_endpoint, make_event, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

AGO = timedelta(minutes=-1)


def sending(endpoint=None, expires_in: timedelta = AGO) -> Delivery:
    endpoint = endpoint or make_endpoint()
    delivery = make_event(tenant=endpoint.tenant).deliveries.get(endpoint=endpoint)
    lease(delivery, expires_in=expires_in)
    return delivery


def test_a_lapsed_delivery_waits_a_little_and_goes_on():
    delivery = sending()
    before = timezone.now()

    result = lapse(10)

    delivery.refresh_from_db()
    assert result == lapsing.Lapsed(1, frozenset({delivery.endpoint_id}), ())
    assert (delivery.status, delivery.attempt_count, delivery.last_outcome) == (Status.PENDING, 1, "unknown")
    assert delivery.next_attempt_at is not None
    assert timedelta(0) < delivery.next_attempt_at - before < timedelta(seconds=lapsing.BACKOFF_SECONDS + 1)


def test_the_attempt_whose_worker_died_is_written_with_a_reason_and_no_path():
    delivery = sending()

    lapse(10)

    attempt = Attempt.objects.get(delivery=delivery)
    assert (attempt.number, attempt.outcome, attempt.host) == (1, Kind.UNKNOWN, "http://127.0.0.1:9")
    assert "worker stopped" in attempt.reason


def test_a_running_lease_is_left_alone():
    delivery = sending(expires_in=timedelta(seconds=60))

    assert lapse(10).count == 0
    delivery.refresh_from_db()
    assert delivery.status == Status.SENDING


def test_a_delivery_that_kills_its_worker_every_time_ends_as_a_dead_letter():
    policy = RetryPolicy.objects.create(name="three", max_attempts=3)
    delivery = sending(make_endpoint(retry_policy=policy, headers={"x-tenant-key": "SECRET"}))
    for _ in range(2):
        assert not lapse(10).dead_letter_ids
        delivery.refresh_from_db()
        lease(delivery, expires_in=AGO)

    result = lapse(10)

    letter = DeadLetter.objects.get(pk=result.dead_letter_ids[0])
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempt_count, letter.failure_class) == (Status.DEAD, 3, "unknown")
    assert [row["number"] for row in letter.attempts] == [1, 2, 3]
    assert letter.headers["x-tenant-key"] == "(hidden)"
    assert "All 3 attempts of policy three" in letter.reason


def test_attempts_of_an_earlier_budget_do_not_count():
    policy = RetryPolicy.objects.create(name="two", max_attempts=2)
    delivery = sending(make_endpoint(retry_policy=policy))
    Delivery.objects.filter(pk=delivery.pk).update(attempt_count=9, budget_offset=8)

    assert not lapse(10).dead_letter_ids


def test_the_late_result_of_a_worker_that_lost_its_lease_changes_nothing():
    endpoint = make_endpoint()
    claimed = take(endpoint, make_event(), lease_seconds=-60)
    lapse(10)

    finish([claimed], kind=Kind.DELIVERED)

    delivery = Delivery.objects.get(pk=claimed.id)
    assert delivery.status == Status.PENDING
    assert [attempt.outcome for attempt in delivery.attempts.all()] == ["unknown"]


def test_a_page_takes_the_longest_overdue_first():
    younger, older = sending(), sending(expires_in=timedelta(hours=-1))

    lapse(1)

    younger.refresh_from_db()
    older.refresh_from_db()
    assert (younger.status, older.status) == (Status.SENDING, Status.PENDING)


def test_a_lost_encryption_key_does_not_keep_a_dead_delivery_from_its_dead_letter(settings):
    policy = RetryPolicy.objects.create(name="one", max_attempts=1)
    delivery = sending(make_endpoint(retry_policy=policy))
    settings.HOLDFAST_SECRET_KEYS = ["A" * 43 + "="]

    [letter_id] = lapse(10).dead_letter_ids

    assert DeadLetter.objects.get(pk=letter_id).headers["webhook-id"] == delivery.event_id
