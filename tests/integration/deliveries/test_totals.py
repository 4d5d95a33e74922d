"""Totals: what counters begin with. They never go down, whatever is folded, deleted or closed twice."""

import threading
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import F, Sum
from django.utils import timezone

from deliveries.histograms import FAILURE_KINDS
from deliveries.models import Delivery, EndpointSpan, TrafficTotal
from deliveries.outcomes import Kind
from deliveries.sweeps import figures, rollups
from deliveries.transitions import close
from deliveries.transitions.close import close_minutes
from deliveries.transitions.fold import fold_hour
from deliveries.watch.totals import totals
from tests.factories import finish, make_dead_letter, make_delivered, make_endpoint, make_event, make_span, take
from tests.integration.deliveries.test_racing import in_another_connection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def age_rollups(age: timedelta) -> None:
    EndpointSpan.objects.update(starts_at=F("starts_at") - age)


def test_before_anything_was_attempted_everything_is_there_and_0():
    found = totals()

    assert (found.attempts, found.delivered, found.retries) == (0, 0, 0)
    assert found.failed_by_kind == [0] * len(FAILURE_KINDS)
    assert not TrafficTotal.objects.exists()


def test_an_attempt_counts_at_once():
    make_delivered(make_endpoint())
    make_dead_letter(make_endpoint(tenant="other"), kind=Kind.AUTH)

    found = totals()

    assert (found.attempts, found.delivered) == (2, 1)
    assert found.delivered_by_number == [1, 0, 0, 0, 0, 0]
    assert found.failed_by_kind[FAILURE_KINDS.index(Kind.AUTH)] == sum(found.failed_by_kind) == 1
    assert (sum(found.attempt_ms), found.attempt_ms_total) == (2, 14)
    assert sum(found.end_to_end_ms) == 1


def test_attempts_after_the_first_are_retries():
    endpoint, event = make_endpoint(), make_event()
    Delivery.objects.filter(event=event).update(attempt_count=3)

    finish([take(endpoint, event)], kind=Kind.DELIVERED)
    make_delivered(make_endpoint(tenant="other"))

    assert totals().retries == 1


def test_the_sum_of_the_time_to_acknowledgement_is_kept_beside_its_buckets():
    endpoint, event = make_endpoint(), make_event()
    Delivery.objects.filter(event=event).update(created_at=timezone.now() - timedelta(seconds=45))

    finish([take(endpoint, event)], kind=Kind.DELIVERED)

    assert totals().end_to_end_ms_total == pytest.approx(45_000, abs=5_000)


def test_what_is_closed_folded_and_deleted_is_still_counted(settings):
    make_delivered(make_endpoint())
    make_dead_letter(make_endpoint(tenant="other"))
    before = totals()
    age_rollups(timedelta(hours=5))

    close_minutes()
    assert totals() == before

    settings.HOLDFAST = settings.HOLDFAST | {"MINUTE_ROLLUP_DAYS": 1 / 24}
    assert rollups.sweep().folded == 2
    assert totals() == before

    settings.HOLDFAST = settings.HOLDFAST | {"HOUR_ROLLUP_DAYS": 1 / 24}
    assert rollups.sweep().deleted == 2
    assert not EndpointSpan.objects.exists()
    assert totals() == before


def test_closing_again_counts_nothing_twice():
    make_delivered(make_endpoint())
    age_rollups(timedelta(hours=5))
    before = totals()

    assert close_minutes() > 0
    assert close_minutes() == 0
    assert figures.sweep().closed == 0

    assert totals() == before


def close_once() -> None:
    close_minutes()


@pytest.mark.django_db(transaction=True)
def test_two_that_close_at_once_count_once():
    make_delivered(make_endpoint())
    age_rollups(timedelta(hours=5))
    before = totals()

    threads = [in_another_connection(close_once) for _ in range(3)]
    for thread in threads:
        thread.join(10)

    assert totals() == before
    assert TrafficTotal.objects.aggregate(closed=Sum("attempts"))["closed"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_minute_stays_open_while_a_transaction_that_began_in_it_is_left(monkeypatch):
    # As if the minute were over: what keeps it open is the transaction alone.
    monkeypatch.setattr(close, "BEGINNING_SECONDS", -60)
    monkeypatch.setattr(close, "LATEST_SECONDS", 600)
    make_delivered(make_endpoint())
    begun, may_end = threading.Event(), threading.Event()
    thread = in_another_connection(lambda: hold_a_transaction(begun, may_end))
    assert begun.wait(10)

    close_minutes()
    assert (TrafficTotal.objects.get().attempts, totals().attempts) == (0, 1)

    may_end.set()
    thread.join(10)
    close_minutes()
    assert (TrafficTotal.objects.get().attempts, totals().attempts) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_no_transaction_holds_a_minute_open_for_long(monkeypatch):
    monkeypatch.setattr(close, "LATEST_SECONDS", -60)
    make_delivered(make_endpoint())
    begun, may_end = threading.Event(), threading.Event()
    thread = in_another_connection(lambda: hold_a_transaction(begun, may_end))
    assert begun.wait(10)

    close_minutes()
    may_end.set()
    thread.join(10)

    assert TrafficTotal.objects.get().attempts == 1


def hold_a_transaction(begun: threading.Event, may_end: threading.Event) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        begun.set()
        may_end.wait(10)


def test_a_minute_that_is_not_closed_is_not_folded(settings):
    settings.HOLDFAST = settings.HOLDFAST | {"MINUTE_ROLLUP_DAYS": 0.000_01}
    endpoint = make_endpoint()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    make_span(endpoint, hour, delivered=3)
    close_minutes()
    TrafficTotal.objects.update(closed_until=hour, attempts=0)

    assert fold_hour(timezone.now()) == 0
    assert totals().attempts == 3


def test_a_pause_of_days_is_caught_up_in_bounded_steps(monkeypatch):
    monkeypatch.setattr(close, "HOURS_PER_RUN", 10)
    make_span(make_endpoint(), timezone.now() - timedelta(hours=15), delivered=3)

    assert close_minutes() == 10
    assert 5 <= close_minutes() <= 6
    assert TrafficTotal.objects.get().attempts == totals().attempts == 3


def test_a_row_written_before_a_class_existed_counts_with_the_others():
    endpoint = make_endpoint()
    old = timezone.now() - timedelta(hours=5)
    make_span(endpoint, old, failed={"auth": 1})
    EndpointSpan.objects.update(failed_by_kind=[0, 0, 1])
    close_minutes()
    make_span(endpoint, timezone.now(), failed={"auth": 1})

    found = totals()

    assert found.failed_by_kind[FAILURE_KINDS.index(Kind.AUTH)] == 2
    assert len(found.failed_by_kind) == len(FAILURE_KINDS)


def test_totals_outgrow_an_integer():
    make_span(make_endpoint(), timezone.now() - timedelta(hours=5), delivered=2, delivered_by_number=[2, 0, 0, 0, 0, 0])
    close_minutes()
    TrafficTotal.objects.update(
        attempts=2**40, delivered_by_number=[2**40, 0, 0, 0, 0, 0], closed_until=F("closed_until") - timedelta(hours=1)
    )
    recently = timezone.now() - timedelta(minutes=10)
    make_span(make_endpoint(), recently, delivered=2, delivered_by_number=[2, 0, 0, 0, 0, 0])

    close_minutes()

    assert (totals().attempts, totals().delivered_by_number[0]) == (2**40 + 2, 2**40 + 2)
