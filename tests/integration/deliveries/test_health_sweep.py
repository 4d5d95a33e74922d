"""The health sweep: each verdict and its opposite, on rollups of a frozen hour."""

from datetime import UTC, datetime, timedelta
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from django.core.management import call_command
from django.utils import timezone

from deliveries.models import Delivery, EndpointHealth
from deliveries.outcomes import Kind
from deliveries.sweeps import health, outlook
from deliveries.watch.last_error import last_error
from deliveries.watch.records import records
from endpoints import availability
from endpoints.models import Endpoint, State, StateChange
from tests.factories import finish, make_dead_letter, make_delivered, make_endpoint, make_event, make_span, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

NOW = datetime(2026, 6, 10, 12, 30, 20, tzinfo=UTC)


def minute(endpoint, ago, *, delivered=0, now=NOW, **failed):
    """What the endpoint did in the minute that began about so many minutes ago."""
    at = (now - timedelta(minutes=ago)).replace(second=0, microsecond=0)
    return make_span(endpoint, at, delivered=delivered, failed=failed)


def level_of(endpoint):
    return EndpointHealth.objects.get(endpoint=endpoint).level


def state_of(endpoint):
    return Endpoint.objects.get(pk=endpoint.pk).state


@pytest.fixture
def dead():
    """Fails for 40 minutes by now, after it worked."""
    endpoint = make_endpoint(tenant="dead")
    minute(endpoint, 45, delivered=10)
    for ago in range(1, 41, 3):
        minute(endpoint, ago, timeout=5)
    return endpoint


class TestDisabling:
    def test_an_endpoint_that_fails_and_is_silent_is_disabled_with_the_reason(self, dead):
        make_dead_letter(dead)

        assert health.sweep(NOW).disabled == 1

        change = StateChange.objects.get(endpoint=dead)
        assert (change.to_state, change.actor) == ("disabled", "rule: health")
        assert "12.5% of 80 attempts succeeded in the last hour" in change.reason
        assert "timeouts" in change.reason
        remembered = EndpointHealth.objects.get(endpoint=dead)
        assert (remembered.level, remembered.score, remembered.sign) == ("failing", 12, "timeouts")
        assert remembered.since == NOW
        assert remembered.last_error == "The endpoint answered 400."
        assert remembered.last_success_at == NOW.replace(minute=45, hour=11, second=0)

    def test_one_success_in_the_last_quarter_of_an_hour_saves_it(self, dead):
        minute(dead, 14, delivered=1)

        assert health.sweep(NOW).disabled == 0
        assert (state_of(dead), level_of(dead)) == ("active", "warning")

    def test_a_success_before_that_does_not(self, dead):
        minute(dead, 17, delivered=1)

        assert health.sweep(NOW).disabled == 1

    def test_half_of_the_hour_is_enough_to_be_only_warned_about(self):
        endpoint = make_endpoint()
        minute(endpoint, 40, delivered=50)
        minute(endpoint, 20, connection=50)

        assert health.sweep(NOW).disabled == 0
        assert level_of(endpoint) == "warning"

    def test_few_samples_prove_nothing(self):
        endpoint = make_endpoint()
        minute(endpoint, 30, timeout=19)

        swept = health.sweep(NOW)

        assert (swept.judged, swept.disabled, swept.warned) == (1, 0, 0)
        assert level_of(endpoint) == "unknown"

    def test_an_open_circuits_few_probes_over_an_hour_are_enough(self):
        endpoint = make_endpoint()
        for ago in range(4, 59, 6):
            minute(endpoint, ago, timeout=1)

        assert health.sweep(NOW).disabled == 1

    def test_a_busy_endpoint_that_is_mostly_well_is_left_alone_whatever_the_number_of_its_failures(self):
        endpoint = make_endpoint()
        for ago in range(60):
            minute(endpoint, ago, delivered=5_000, timeout=50)

        swept = health.sweep(NOW)

        assert (swept.disabled, swept.warned) == (0, 0)
        assert (level_of(endpoint), EndpointHealth.objects.get().score) == ("healthy", 99)

    def test_our_own_faults_never_count(self):
        endpoint = make_endpoint()
        minute(endpoint, 30, delivered=20, internal=500, blocked=500)
        only = make_endpoint(tenant="only")
        minute(only, 30, internal=500)

        health.sweep(NOW)

        assert (level_of(endpoint), level_of(only)) == ("healthy", "unknown")
        assert {state_of(endpoint), state_of(only)} == {"active"}

    def test_our_own_faults_do_not_hide_those_of_the_endpoint_either(self, dead):
        minute(dead, 30, internal=10_000, blocked=10_000)

        assert health.sweep(NOW).disabled == 1

    @pytest.mark.parametrize(
        ("kind", "sign", "words"),
        [
            ("timeout", "timeouts", "answers too slowly, or not at all"),
            ("dns", "dns", "does not resolve any more"),
            ("tls", "tls", "check the certificate's dates, name and issuer"),
            ("auth", "auth", "check for a rotated secret"),
            ("throttled", "throttling", "set a rate limit"),
            ("connection", "none", "several kinds"),
        ],
    )
    def test_the_ledger_says_what_the_failures_look_like(self, kind, sign, words):
        endpoint = make_endpoint()
        for ago in range(1, 41, 3):
            minute(endpoint, ago, **{kind: 5})

        health.sweep(NOW)

        assert EndpointHealth.objects.get().sign == sign
        assert words in StateChange.objects.get().reason

    def test_when_most_endpoints_cannot_be_reached_nobody_is_disabled(self):
        endpoints = [make_endpoint(tenant=str(number)) for number in range(3)]
        for endpoint in endpoints:
            minute(endpoint, 30, connection=50)

        assert (health.sweep(NOW).spared, health.sweep(NOW).disabled) == (3, 0)

        for endpoint in endpoints[:1]:
            minute(endpoint, 10, delivered=1)
        assert health.sweep(NOW).disabled == 2

    def test_an_hour_ago_is_over(self):
        endpoint = make_endpoint()
        minute(endpoint, 61, timeout=100)
        minute(endpoint, 40, delivered=20)

        health.sweep(NOW)

        assert level_of(endpoint) == "healthy"

    def test_what_is_not_active_is_not_judged(self, dead):
        Endpoint.objects.filter(pk=dead.pk).update(state=State.PAUSED)

        assert health.sweep(NOW).judged == 0

    def test_only_minutes_are_judged(self):
        make_span(make_endpoint(), NOW - timedelta(minutes=30), minutes=60, delivered=100)

        assert health.sweep(NOW).judged == 0

    def test_one_that_somebody_pauses_at_this_moment_stays_paused(self, dead):
        def pausing(now):
            found = records(now)
            availability.pause(dead.pk, actor="operator", reason="Maintenance.")
            return found

        with patch.object(health, "records", pausing):
            assert health.sweep(NOW).disabled == 0
        assert state_of(dead) == "paused"

    def test_a_second_sweep_at_the_same_time_does_nothing(self, dead):
        found = records(NOW)
        health.sweep(NOW)

        with patch.object(health, "records", lambda now: found):
            assert health.sweep(NOW).disabled == 0
        assert StateChange.objects.count() == 1

    def test_a_second_sweep_at_the_same_time_warns_nobody_twice(self):
        minute(make_endpoint(), 30, delivered=80, timeout=20)
        found = records(NOW)

        with patch.object(health, "records", lambda now: found):
            assert [health.sweep(NOW + timedelta(minutes=late)).warned for late in (0, 1)] == [1, 0]
        assert EndpointHealth.objects.get().since == NOW


class TestEnabling:
    """The old window is gone: one more timeout does not disable it again."""

    def test_only_what_happened_since_counts(self, dead):
        health.sweep(NOW)
        availability.enable(dead, actor="operator")
        Endpoint.objects.filter(pk=dead.pk).update(state_changed_at=NOW)
        assert level_of(dead) == "unknown"

        later = NOW + timedelta(minutes=2)
        minute(dead, 0, timeout=1, now=later)
        swept = health.sweep(later)

        assert (swept.judged, swept.disabled, swept.warned) == (1, 0, 0)
        assert records(later)[0].record.failed == {"timeout": 1}

    def test_new_failures_disable_it_again_after_a_silent_stretch_of_their_own(self, dead):
        health.sweep(NOW)
        availability.enable(dead, actor="operator")
        Endpoint.objects.filter(pk=dead.pk).update(state_changed_at=NOW)
        early, late = NOW + timedelta(minutes=10), NOW + timedelta(minutes=20)
        minute(dead, 8, timeout=30, now=early)

        assert health.sweep(early).disabled == 0
        assert level_of(dead) == "warning"
        assert health.sweep(late).disabled == 1

    def test_one_that_was_never_moved_is_judged_on_all_of_its_minutes(self):
        endpoint = make_endpoint(state_changed_at=NOW)
        minute(endpoint, 30, delivered=20)

        assert health.sweep(NOW).judged == 1


class TestFlapping:
    def test_it_is_warned_once_and_recovers_once(self):
        endpoint = make_endpoint()
        told = []
        for delivered, failed in [(100, 0), (94, 6), (96, 4), (94, 6), (96, 4), (98, 2), (96, 4), (100, 0)]:
            endpoint.spans.all().delete()
            minute(endpoint, 5, delivered=delivered, timeout=failed)
            swept = health.sweep(NOW)
            told.append((swept.warned, swept.recovered))

        assert told == [(0, 0), (1, 0), (0, 0), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0)]

    def test_a_quiet_hour_does_not_make_it_well(self):
        endpoint = make_endpoint()
        minute(endpoint, 50, delivered=50, timeout=50)
        health.sweep(NOW)

        minute(endpoint, 0, timeout=1, now=NOW + timedelta(hours=2))
        health.sweep(NOW + timedelta(hours=2))

        remembered = EndpointHealth.objects.get()
        assert (remembered.level, remembered.score, remembered.since) == ("warning", None, NOW)


class TestThresholds:
    def test_they_are_settings(self, settings):
        settings.HOLDFAST = {"HEALTH_WARN_BELOW": 0.5, "HEALTH_DISABLE_BELOW": 0.1, "HEALTH_LEAST_SAMPLES": 5}
        endpoint, few = make_endpoint(), make_endpoint(tenant="few")
        minute(endpoint, 30, delivered=60, timeout=40)
        minute(few, 30, timeout=5)

        health.sweep(NOW)

        assert (level_of(endpoint), level_of(few)) == ("healthy", "failing")

    def test_an_endpoint_may_have_its_own(self, dead):
        lenient = {"disable_below": 0, "warn_below": 0.1}
        Endpoint.objects.filter(pk=dead.pk).update(health_thresholds=lenient)

        health.sweep(NOW)

        assert level_of(dead) == "healthy"

    def test_its_own_silent_stretch_counts(self):
        hasty = make_endpoint(health_thresholds={"silent_minutes": 2})
        minute(hasty, 10, delivered=5)
        minute(hasty, 4, timeout=20)

        assert health.sweep(NOW).disabled == 1


@pytest.mark.parametrize("now", [datetime(2026, 3, 29, 1, 10, tzinfo=UTC), datetime(2026, 10, 25, 1, 10, tzinfo=UTC)])
def test_an_hour_is_an_hour_when_the_clocks_change(now):
    """In Berlin the clocks jump at 01:00 UTC of these days: local time says 10 minutes are 70, or minus 50."""
    endpoint, silent = make_endpoint(), make_endpoint(tenant="silent")
    minute(endpoint, 55, delivered=5, now=now)
    minute(endpoint, 12, delivered=1, now=now)
    minute(endpoint, 8, timeout=30, now=now)
    minute(silent, 40, timeout=30, now=now)
    minute(silent, 65, delivered=1_000, now=now)

    berlin = ZoneInfo("Europe/Berlin")
    with timezone.override(berlin):
        health.sweep(now.astimezone(berlin))

    assert (level_of(endpoint), level_of(silent)) == ("warning", "failing")


class TestArchiving:
    def disabled(self, days):
        endpoint = make_endpoint()
        availability.disable(endpoint, actor="rule: gone", reason="The endpoint answered 410 Gone.")
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=NOW - timedelta(days=days))
        return endpoint

    def test_what_stayed_disabled_for_long_is_archived_with_the_reason(self):
        endpoint = self.disabled(31)

        assert health.sweep(NOW).archived == 1

        change = StateChange.objects.filter(endpoint=endpoint).first()
        assert (change.to_state, change.actor) == ("archived", "rule: disabled for long")
        assert change.reason == "It has been disabled for 30 days."

    def test_not_before_its_time_and_never_what_is_paused(self, settings):
        young = self.disabled(29)
        paused = make_endpoint()
        availability.pause(paused, actor="operator", reason="Maintenance.")
        Endpoint.objects.filter(pk=paused.pk).update(state_changed_at=NOW - timedelta(days=300))

        assert health.sweep(NOW).archived == 0
        settings.HOLDFAST = {"ARCHIVE_AFTER_DAYS": 28}
        assert health.sweep(NOW).archived == 1
        assert (state_of(young), state_of(paused)) == (State.ARCHIVED, State.PAUSED)


def test_real_results_are_judged_and_held_deliveries_stay():
    endpoint = make_endpoint(health_thresholds={"silent_minutes": 0, "least_samples": 3})
    for _ in range(3):
        finish([take(endpoint, make_event())], kind=Kind.AUTH)
    waiting = make_event()

    assert health.sweep().disabled == 1

    assert EndpointHealth.objects.get().sign == "auth"
    assert waiting.deliveries.get().status == "pending"


def test_what_arrived_and_is_replayed_is_no_error():
    delivery = make_delivered()
    Delivery.objects.filter(pk=delivery.pk).update(status="pending", next_attempt_at=NOW, finished_at=None)

    assert last_error(delivery.endpoint_id) == ""


def test_the_last_error_is_that_of_what_waits_to_be_tried_again_when_it_is_newer():
    endpoint = make_endpoint()
    make_dead_letter(endpoint)
    delivery = make_delivered(endpoint)
    Delivery.objects.filter(pk=delivery.pk).update(status="pending", next_attempt_at=NOW, finished_at=None)
    delivery.attempts.update(
        outcome="timeout", reason="It timed out.", started_at=timezone.now() + timedelta(seconds=1)
    )

    assert last_error(endpoint.pk) == "It timed out."


def test_an_endpoint_that_is_deleted_meanwhile_is_left_out(dead):
    def deleting(now):
        found = records(now)
        Endpoint.objects.filter(pk=dead.pk).delete()
        return found

    with patch.object(health, "records", deleting):
        health.sweep(NOW)

    assert not EndpointHealth.objects.exists()


def test_a_dry_run_counts_and_changes_nothing(capsys):
    endpoint = make_endpoint()
    minute(endpoint, 5, delivered=50, timeout=50, now=datetime.now(UTC))

    assert outlook.COUNTS["health"]() == 1
    call_command("sweep", "health", "--dry-run")

    assert "health: found 1" in capsys.readouterr().out
    assert not EndpointHealth.objects.exists()
