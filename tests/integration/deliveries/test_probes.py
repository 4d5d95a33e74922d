"""Probes of disabled endpoints: who is tried, when, with what, and what comes of it. The clock is frozen."""

from datetime import UTC, datetime, timedelta
from random import Random
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.utils import timezone

from deliveries import pacing, probe
from deliveries.checks import check_conf
from deliveries.models import Attempt, DeadLetter, Delivery, EndpointProbe, Notice
from deliveries.outcomes import Exchange, Failure
from deliveries.redrive import redrive
from deliveries.sweeps import health, outlook, probes
from deliveries.transitions.withdraw import withdraw
from deliveries.transport import MemoryTransport
from deliveries.watch.probing import probing_of
from endpoints import availability
from endpoints.health import RULE
from endpoints.models import Endpoint, StateChange
from tests.factories import backdate, make_dead_letter, make_endpoint, make_event, make_span

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis", "probing")]

MINUTE = timedelta(minutes=1)


class NoJitter(Random):
    def uniform(self, a, b):
        return a


@pytest.fixture
def probing(settings):
    settings.HOLDFAST = {"HEALTH_PROBE_MINUTES": 10}


@pytest.fixture
def rung():
    """The endpoints that a sweep rings for."""
    with patch("deliveries.dispatch.ring_for_probes", return_value=0) as ring:
        yield lambda: [id for call in ring.call_args_list for id in call.args[0]]


def disabled(actor=RULE, **fields):
    endpoint = make_endpoint(**fields)
    availability.disable(endpoint, actor=actor, reason="None succeeded.")
    return endpoint


def due(endpoint, after=11):
    """Plan its probe, and return a moment at which it is due: so many minutes after the disabling."""
    now = endpoint.state_changed_at + after * MINUTE
    sweep(now)
    return now


def sweep(now):
    return probes.sweep(now, NoJitter())


def tried(endpoint, *answers, now):
    receiver = MemoryTransport()
    receiver.script(endpoint.url, *answers)
    enabled = probe.probe([endpoint.pk], transport=receiver, now=now, rng=NoJitter())
    assert enabled <= {endpoint.pk}
    return bool(enabled), receiver.requests


def state_of(endpoint):
    endpoint.refresh_from_db()
    return endpoint.state


class TestWhoIsTried:
    def test_an_endpoint_that_its_health_disabled_is_rung_for_after_the_first_wait(self, rung):
        endpoint = disabled()
        make_event()

        assert sweep(endpoint.state_changed_at + 9 * MINUTE).planned == 1
        assert rung() == []
        sweep(endpoint.state_changed_at + 10 * MINUTE)
        assert rung() == [endpoint.pk]

    def test_nobody_is_by_default(self, settings, rung):
        settings.HOLDFAST = {}
        endpoint = disabled()
        make_event()

        assert sweep(endpoint.state_changed_at + 999 * MINUTE).planned == 0
        assert rung() == []

    def test_an_endpoint_may_say_otherwise_for_itself(self, settings, rung):
        settings.HOLDFAST = {}
        wants = disabled(health_thresholds={"probe_minutes": 5})
        make_event()
        sweep(wants.state_changed_at + 6 * MINUTE)
        assert rung() == [wants.pk]

        settings.HOLDFAST = {"HEALTH_PROBE_MINUTES": 10}
        never = disabled(health_thresholds={"probe_minutes": 0})
        make_event()
        sweep(never.state_changed_at + 999 * MINUTE)
        assert never.pk not in rung()

    @pytest.mark.parametrize("actor", ["anna", "rule: gone"])
    def test_what_a_person_disabled_or_what_is_gone_is_left_alone(self, rung, actor):
        endpoint = disabled(actor)
        make_event()
        now = due(endpoint, 999)

        assert rung() == []
        assert tried(endpoint, 200, now=now) == (False, [])

    def test_an_endpoint_for_which_nothing_is_held_is_tried_with_the_next_event(self, rung):
        endpoint = disabled()
        now = due(endpoint)
        assert rung() == []

        make_event()
        sweep(now)
        assert rung() == [endpoint.pk]

    def test_switching_it_off_stops_what_was_planned(self, settings, rung):
        endpoint = disabled()
        make_event()
        now = due(endpoint)
        settings.HOLDFAST = {}

        assert tried(endpoint, 200, now=now) == (False, [])

    def test_a_later_disabling_begins_with_the_first_wait_again(self, rung):
        endpoint = disabled()
        make_event()
        tried(endpoint, 500, now=due(endpoint))
        availability.enable(endpoint, actor="anna")
        availability.disable(endpoint, actor=RULE, reason="Again.")
        later = endpoint.state_changed_at + timedelta(hours=1)
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=later)

        assert sweep(later).planned == 1

        planned = EndpointProbe.objects.get()
        assert (planned.next_at, planned.tries) == (later + 10 * MINUTE, 0)

    @pytest.mark.parametrize(("after", "wait"), [(timedelta(hours=23), 20), (timedelta(hours=25), 10)])
    def test_one_that_a_probe_enabled_and_that_does_not_last_waits_longer_for_a_day(self, after, wait):
        endpoint = disabled()
        make_event()
        now = due(endpoint)
        assert tried(endpoint, 200, now=now)[0]
        availability.disable(endpoint, actor=RULE, reason="Again.")
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=now + after)

        assert sweep(now + after).planned == 1

        assert EndpointProbe.objects.get().next_at == now + after + wait * MINUTE


class TestSuccess:
    def test_one_delivery_that_arrives_enables_the_endpoint_and_all_are_told(self):
        endpoint = disabled()
        events = [make_event() for _ in range(3)]
        now = due(endpoint)

        enabled, requests = tried(endpoint, 200, now=now)

        assert (enabled, len(requests), state_of(endpoint)) == (True, 1, "active")
        first = events[0].deliveries.get()
        assert (first.status, first.attempt_count) == ("delivered", 1)
        change = StateChange.objects.first()
        assert (change.to_state, change.actor) == ("active", RULE)
        assert change.reason == f"Delivery {first.pk} arrived as a probe."
        assert Notice.objects.filter(kind="endpoint.enabled").count() == 1

    def test_the_window_is_cleared_and_a_ramp_begins(self, django_capture_on_commit_callbacks):
        endpoint = make_endpoint()
        for ago in range(2, 40, 4):
            make_span(endpoint, timezone.now() - ago * MINUTE, failed={"timeout": 10})
        health.sweep()
        endpoint.refresh_from_db()
        make_event()
        with django_capture_on_commit_callbacks(execute=True):
            assert tried(endpoint, 200, now=due(endpoint))[0]

        assert health.sweep().disabled == 0
        assert pacing.describe([endpoint.pk])[endpoint.pk].ramp_reason == "was disabled"

    def test_one_that_was_enabled_and_disabled_again_meanwhile_is_another_case(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)

        def moving(request):
            availability.enable(endpoint.pk, actor="anna")
            availability.disable(endpoint.pk, actor=RULE, reason="Again.")
            Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=now)
            return Exchange(status_code=200)

        with patch.object(probe, "sending", inline()):
            assert tried(endpoint, moving, now=now)[0] is False

        assert state_of(endpoint) == "disabled"

    def test_somebody_who_moves_it_meanwhile_has_the_last_word(self):
        endpoint = disabled()
        delivery = make_event().deliveries.get()
        now = due(endpoint)

        def moving(request):
            availability.enable(endpoint.pk, actor="anna")
            availability.pause(endpoint.pk, actor="anna", reason="Maintenance.")
            return Exchange(status_code=200)

        with patch.object(probe, "sending", inline()):
            assert tried(endpoint, moving, now=now)[0] is False

        assert state_of(endpoint) == "paused"
        delivery.refresh_from_db()
        assert delivery.status == "delivered"


def inline():
    """Sends in the calling thread, which alone sees the rows of a test's transaction."""

    class Done:
        def __init__(self, call, *arguments):
            self.value = call(*arguments)

        def result(self):
            return self.value

    class Sending:
        @staticmethod
        def sending_threads():
            return Sending

        @staticmethod
        def submit(call, *arguments):
            return Done(call, *arguments)

    return Sending


class TestFailure:
    @pytest.mark.parametrize("answer", [500, 429, 301, 401, 404, 422, Failure.TIMEOUT, Failure.TLS, Failure.BLOCKED])
    def test_whatever_it_is_the_delivery_stays_held_and_the_endpoint_disabled(self, answer):
        endpoint = disabled()
        delivery = make_event().deliveries.get()

        assert tried(endpoint, answer, now=due(endpoint))[0] is False

        delivery.refresh_from_db()
        assert (delivery.status, state_of(endpoint)) == ("pending", "disabled")
        assert Attempt.objects.get().outcome == delivery.last_outcome
        assert not DeadLetter.objects.exists()
        assert StateChange.objects.count() == 1
        assert not Notice.objects.exclude(kind="endpoint.disabled").exists()

    def test_no_number_of_probes_spends_more_than_the_first_attempt(self):
        endpoint = disabled(ordered=True)
        delivery = make_event().deliveries.get()
        now = due(endpoint)

        for number in range(1, 21):
            assert len(tried(endpoint, 500, now=now)[1]) == 1, number
            now += timedelta(hours=5)
            pacing.resume(endpoint.pk, "test", afresh=True)

        delivery.refresh_from_db()
        assert (delivery.attempt_count, delivery.attempt_count - delivery.budget_offset) == (20, 1)
        assert list(Attempt.objects.order_by("number").values_list("number", flat=True)) == list(range(1, 21))

    def test_the_waits_double_and_no_probe_comes_before_its_time(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)
        waits = []
        for _ in range(6):
            assert len(tried(endpoint, 500, now=now)[1]) == 1
            next_at = EndpointProbe.objects.get().next_at
            waits.append((next_at - now) / MINUTE)
            pacing.resume(endpoint.pk, "test", afresh=True)
            assert tried(endpoint, 500, now=next_at - MINUTE) == (False, [])
            now = next_at

        assert waits == [20, 40, 80, 160, 240, 240]

    def test_the_next_probe_tries_another_delivery(self):
        endpoint = disabled()
        first, second = make_event(), make_event()
        backdate(first.deliveries.get(), next_attempt_at=2 * MINUTE)
        backdate(second.deliveries.get(), next_attempt_at=MINUTE)
        sent = []
        now = due(endpoint)
        for _ in range(2):
            sent += [request.headers["webhook-id"] for request in tried(endpoint, 500, now=now)[1]]
            now = EndpointProbe.objects.get().next_at
            pacing.resume(endpoint.pk, "test", afresh=True)

        assert sent == [first.pk, second.pk]

    def test_a_retry_after_puts_the_next_probe_off(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)

        tried(endpoint, Exchange(status_code=503, retry_after="7200"), now=now)

        assert EndpointProbe.objects.get().next_at == now + timedelta(hours=2)
        assert pacing.waits([endpoint.pk])[endpoint.pk] > 7_000

    def test_an_endpoint_that_is_held_is_not_tried_before_that_is_over(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)
        pacing.report({endpoint.pk: pacing.Tally(hold_seconds=3_600)})

        assert tried(endpoint, 200, now=now) == (False, [])
        assert timedelta(minutes=59) < EndpointProbe.objects.get().next_at - now <= timedelta(hours=1)

    def test_a_410_ends_it_and_the_owner_is_told(self):
        endpoint = disabled(owner_email="owner@example.org")
        delivery = make_event().deliveries.get()
        now = due(endpoint)

        tried(endpoint, 410, now=now)

        delivery.refresh_from_db()
        assert (delivery.status, state_of(endpoint)) == ("pending", "disabled")
        assert EndpointProbe.objects.get().next_at is None
        assert sweep(now + timedelta(days=1)).planned == 0
        assert tried(endpoint, 200, now=now + timedelta(days=1)) == (False, [])
        told = Notice.objects.filter(kind="endpoint.disabled").first()
        assert "410 Gone" in told.text
        assert told.owner_email == "owner@example.org"

    def test_a_stopped_redrive_does_not_take_back_what_a_probe_has_sent(self):
        endpoint = make_endpoint()
        letter = make_dead_letter(endpoint)
        availability.disable(endpoint, actor=RULE, reason="None succeeded.")
        operation = redrive(DeadLetter.objects.filter(pk=letter.pk), actor="anna", note="Again.")
        tried(endpoint, 500, now=due(endpoint))

        assert withdraw(operation.pk, 10).total == 0


class TestTwoAtOnce:
    def test_a_second_message_finds_nothing_to_do(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)

        assert len(tried(endpoint, 500, now=now)[1]) == 1
        assert tried(endpoint, 500, now=now) == (False, [])

    def test_an_endpoint_that_another_worker_has_is_left_to_it(self):
        endpoint = disabled()
        make_event()
        now = due(endpoint)
        pacing.take(pacing.new_token(), {endpoint.pk: (1, None)})

        assert tried(endpoint, 200, now=now) == (False, [])
        assert EndpointProbe.objects.get().tries == 0

    def test_a_worker_that_dies_over_it_costs_one_wait_and_one_attempt(self):
        endpoint = disabled()
        delivery = make_event().deliveries.get()
        now = due(endpoint)

        with patch.object(probe, "settle", side_effect=MemoryError), pytest.raises(MemoryError):
            tried(endpoint, 200, now=now)

        delivery.refresh_from_db()
        assert (delivery.status, delivery.attempt_count, state_of(endpoint)) == ("sending", 1, "disabled")
        assert EndpointProbe.objects.get().next_at == now + 20 * MINUTE


class TestOrdered:
    def test_the_head_of_the_sequence_is_the_probe_whatever_is_due_first(self):
        endpoint = disabled(ordered=True)
        head, behind = make_event(), make_event()
        Delivery.objects.filter(event=head).update(next_attempt_at=timezone.now() + timedelta(hours=1))
        backdate(behind.deliveries.get(), next_attempt_at=timedelta(hours=1))

        _, requests = tried(endpoint, 200, now=due(endpoint))

        assert [request.headers["webhook-id"] for request in requests] == [head.pk]

    def test_nothing_is_tried_behind_an_open_dead_letter_that_blocks(self):
        endpoint = make_endpoint(ordered=True)
        make_dead_letter(endpoint)
        make_event()
        availability.disable(endpoint, actor=RULE, reason="None succeeded.")
        now = due(endpoint)

        assert tried(endpoint, 200, now=now) == (False, [])
        planned = EndpointProbe.objects.get()
        assert (planned.tries, planned.next_at, planned.said) == (0, now + 10 * MINUTE, probe.NOTHING_TO_TRY)

        Endpoint.objects.filter(pk=endpoint.pk).update(dead_letter_blocks=False)
        assert tried(endpoint, 200, now=planned.next_at)[0] is True

    def test_nothing_is_tried_while_the_head_is_in_flight(self):
        endpoint = disabled(ordered=True)
        head, _ = make_event(), make_event()
        now = due(endpoint)
        Delivery.objects.filter(event=head).update(
            status="sending", next_attempt_at=None, lease_token="00000000-0000-0000-0000-000000000001",
            lease_expires_at=timezone.now() + MINUTE,
        )  # fmt: skip

        assert tried(endpoint, 200, now=now) == (False, [])


def test_what_has_passed_its_deadline_is_not_tried():
    endpoint = disabled()
    backdate(make_event().deliveries.get(), deadline_at=MINUTE)

    assert tried(endpoint, 200, now=due(endpoint)) == (False, [])


class TestWhatPeopleSee:
    def test_the_notice_of_the_disabling_says_whether_it_is_tried_by_itself(self):
        disabled()
        disabled(health_thresholds={"probe_minutes": 0})
        disabled("anna")

        texts = list(Notice.objects.order_by("pk").values_list("text", flat=True))
        assert ["tried by itself" in text for text in texts] == [True, False, False]

    def test_when_the_next_one_comes_and_what_the_last_one_came_to(self):
        endpoint = disabled()
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=datetime(2026, 6, 10, 12, 0, tzinfo=UTC))
        endpoint.refresh_from_db()
        assert probing_of(endpoint).sentence == "The next sweep says when it is tried again."
        now = due(endpoint)
        assert "With the next event, not before 2026-06-10 12:10 UTC" in probing_of(endpoint).sentence
        make_event()
        assert probing_of(endpoint).sentence == "One delivery is tried at 2026-06-10 12:10 UTC or soon after."

        tried(endpoint, 500, now=now)

        seen = probing_of(endpoint)
        assert (seen.next_at, seen.tries) == (now + 20 * MINUTE, 1)
        assert "Tried 1 time so far. Answered 500" in seen.sentence

    def test_that_it_is_off_or_over(self, settings):
        endpoint = disabled()
        make_event()
        tried(endpoint, 410, now=due(endpoint))
        assert "not tried again by itself. Tried 1 time" in probing_of(endpoint).sentence

        settings.HOLDFAST = {}
        assert "probing is off" in probing_of(endpoint).sentence

    def test_nothing_of_an_endpoint_that_no_rule_has_disabled(self):
        assert probing_of(make_endpoint()) is None
        assert probing_of(disabled("anna")) is None

    def test_endpoint_show_says_it(self, capsys):
        endpoint = disabled()
        make_event()
        due(endpoint)

        call_command("endpoint", "show", str(endpoint.pk))

        assert "One delivery is tried at" in capsys.readouterr().out


@pytest.mark.parametrize(("minutes", "faults"), [(0, 0), (0.5, 0), (1440, 0), (-1, 1), (1441, 1), ("10", 1), (True, 1)])
def test_the_setting_is_a_number_of_minutes_or_0(settings, minutes, faults):
    settings.HOLDFAST = {"HEALTH_PROBE_MINUTES": minutes}

    assert len(check_conf(None)) == faults


def test_a_dry_run_counts_and_sends_nothing():
    endpoint = disabled()
    make_event()
    Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=timezone.now() - timedelta(hours=1))
    endpoint.refresh_from_db()
    sweep(endpoint.state_changed_at)

    assert outlook.COUNTS["probes"]() == 1
    assert EndpointProbe.objects.get().tries == 0
