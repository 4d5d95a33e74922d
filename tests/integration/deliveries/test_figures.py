"""Figures: what the rollups of a window say, without a look at an attempt."""

from datetime import timedelta

import pytest
from django.utils import timezone

from deliveries.histograms import ATTEMPT_MS, ATTEMPT_NUMBERS, END_TO_END_MS, FAILURE_KINDS
from deliveries.models import Attempt, EndpointSpan
from deliveries.outcomes import Kind
from deliveries.watch import figures
from tests.factories import finish, make_dead_letter, make_delivered, make_endpoint, make_event, make_span, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

HOUR = timedelta(hours=1)


def span(
    endpoint, ago=timedelta(0), *, minutes=1, delivered=0, by_number=(), attempt_ms=(), end_to_end_ms=(), **failed
):
    """A rollup that began so long ago; failures by class."""
    return make_span(
        endpoint,
        timezone.now() - ago,
        minutes=minutes,
        delivered=delivered,
        failed=failed,
        delivered_by_number=list(by_number),
        attempt_ms=list(attempt_ms),
        end_to_end_ms=list(end_to_end_ms),
    )


def last_hour():
    return figures.traffic(timezone.now() - HOUR, timezone.now())


def test_each_endpoint_and_all_together_are_added_up_over_the_window():
    one, other = make_endpoint(), make_endpoint(tenant="other")
    span(one, delivered=3, auth=1)
    span(one, timedelta(minutes=59), delivered=1, throttled=3)
    span(other, delivered=2)
    span(other, timedelta(minutes=61), delivered=50)

    traffic = last_hour()

    assert {id: each.attempts for id, each in traffic.by_endpoint.items()} == {one.pk: 8, other.pk: 2}
    mine = traffic.by_endpoint[one.pk]
    assert (mine.success_rate, mine.auth_failure_rate, mine.throttling_rate) == (0.5, 0.125, 0.375)
    assert traffic.overall.attempts == 10
    assert traffic.overall.failed == {"auth": 1, "throttled": 3}
    assert figures.overall(timezone.now() - HOUR, timezone.now()) == traffic.overall
    assert figures.of_endpoint(one.pk, timezone.now() - HOUR, timezone.now()) == mine


def test_a_window_without_traffic_has_no_rates_and_no_latencies():
    empty = last_hour().overall

    assert empty.attempts == 0
    assert (empty.success_rate, empty.retry_rate, empty.auth_failure_rate) == (None, None, None)
    assert empty.latency_ms == {"p50": None, "p95": None, "p99": None}


def test_folded_hours_count_like_minutes():
    endpoint = make_endpoint()
    span(endpoint, timedelta(days=3), minutes=60, delivered=5)
    span(endpoint, delivered=1)

    assert figures.overall(timezone.now() - timedelta(days=7), timezone.now()).delivered == 6


def test_percentiles_come_from_the_buckets_of_all_minutes():
    endpoint = make_endpoint()
    fast, slow = ATTEMPT_MS.index(10), ATTEMPT_MS.index(5_000)
    span(endpoint, delivered=98, attempt_ms=[98 if place == fast else 0 for place in range(len(ATTEMPT_MS) + 1)])
    span(endpoint, timedelta(minutes=2), timeout=2, attempt_ms=[2 if place == slow else 0 for place in range(13)])

    latency = last_hour().overall.latency_ms

    assert 5 < latency["p50"] <= 10
    assert latency["p95"] <= 10
    assert 2_500 < latency["p99"] <= 5_000


def test_end_to_end_is_told_apart_from_the_attempt():
    span(make_endpoint(), delivered=1, end_to_end_ms=[0] * END_TO_END_MS.index(300_000) + [1])

    overall = last_hour().overall

    assert 60_000 < overall.latency_end_to_end_ms["p50"] <= 300_000
    assert overall.latency_ms["p50"] is None


def test_the_attempts_at_which_deliveries_arrived_are_named():
    span(make_endpoint(), delivered=10, by_number=[6, 2, 0, 1, 0, 1])

    overall = last_hour().overall

    assert overall.succeeded_at == {"1": 6, "2": 2, "3": 0, "4-5": 1, "6-10": 0, "more": 1}
    assert len(overall.succeeded_at) == len(ATTEMPT_NUMBERS) + 1
    assert overall.retry_rate == 0.4


def test_a_rollup_that_is_older_than_a_bucket_lacks_it_and_is_counted_all_the_same():
    endpoint = make_endpoint()
    short = span(endpoint, delivered=1, rejected=1)
    EndpointSpan.objects.filter(pk=short.pk).update(failed_by_kind=[4])

    assert last_hour().overall.failed == {FAILURE_KINDS[0].value: 4}


def test_real_results_are_seen_and_attempts_are_not_needed():
    endpoint = make_endpoint()
    make_delivered(endpoint)
    finish([take(endpoint, make_event())], kind=Kind.AUTH)
    Attempt.objects.all().delete()

    mine = last_hour().by_endpoint[endpoint.pk]

    assert (mine.attempts, mine.success_rate, mine.auth_failure_rate) == (2, 0.5, 0.5)
    assert mine.latency_ms["p95"] <= 10


def test_what_waits_is_counted_for_all_and_for_one_endpoint():
    endpoint, other = make_endpoint(), make_endpoint(tenant="other")
    make_dead_letter(endpoint, kind=Kind.AUTH)
    make_dead_letter(endpoint)
    make_dead_letter(other)
    make_event()

    everything, mine = figures.backlog(), figures.backlog(endpoint.pk)

    assert everything.dead_letters_by_class == {"auth": 1, "rejected": 2}
    assert everything.open_dead_letters == 3
    assert mine.dead_letters_by_class == {"auth": 1, "rejected": 1}
    assert mine.pending == 1
    assert 0 <= mine.oldest_open_dead_letter_seconds < 60
    assert figures.backlog(other.pk).pending == 0
