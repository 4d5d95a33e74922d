"""The circuit on a real Valkey, beside a model that keeps every result."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deliveries.pacing import Tally, rules
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from tests.integration.pacing.asking import OTHER_WORKER, Asked
from tests.integration.pacing.models import Circuit

HAPPENINGS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 10, 1000, 12_000, 46_000, 61_000, 400_000]),
        st.integers(0, 6),
        st.integers(0, 7),
        st.integers(0, 7),
    ),
    min_size=1,
    max_size=25,
)
"""Milliseconds that go by, then successes, failures, and how many of the failures came last."""

quickly = settings(deadline=None, max_examples=60)


def tally(good: int, bad: int, trailing: int) -> Tally:
    return Tally(good, bad, bad if good == 0 else min(trailing, bad))


def opened() -> Asked:
    """An endpoint whose circuit has just opened for the first time."""
    asked = Asked()
    assert asked.fail(rules.OPEN_STREAK) == "open"
    return asked


def wait_for_probe(asked: Asked) -> None:
    asked.pass_ms(round(asked.take().wait_seconds * 1000))
    assert asked.take().why == "probe"


@quickly
@given(HAPPENINGS, st.integers(0, 2**32))
def test_it_opens_and_closes_when_the_model_does(happenings, seed):
    asked, model = Asked(), Circuit()
    for pause, good, bad, trailing in happenings:
        asked.pass_ms(pause)
        now = asked.now_ms / 1000
        told = tally(good, bad, trailing)

        allowance = asked.take()
        if allowance.why == "probe":
            assert model.state in ("open", "half-open")
            model.let_probe_through()
        assert allowance.granted == (0 if allowance.why in ("open", "half-open") else 1)
        assert (allowance.why in ("open", "half-open", "probe")) == (model.state != "closed")

        was_closed = model.state == "closed"
        state = asked.report(told, seed=seed)
        assert state == model.see(now, told.good, told.bad, told.streak)
        if was_closed and state == "open":
            assert asked.take().granted == 0


@quickly
@given(st.integers(1, 9), st.integers(0, 2**32))
def test_each_failed_probe_keeps_it_open_twice_as_long_up_to_the_longest_and_a_quarter_of_chance(times, seed):
    asked, model = Asked(), Circuit()
    asked.fail(rules.OPEN_STREAK, seed=seed)
    model.see(0, 0, rules.OPEN_STREAK, rules.OPEN_STREAK)
    for number in range(times):
        wait = asked.take().wait_seconds
        assert model.wait <= wait <= 1.25 * model.wait + 0.001
        wait_for_probe(asked)
        asked.fail(1, seed=seed + number)
        model.let_probe_through()
        model.see(0, 0, 1, 1)
    assert asked.take().wait_seconds <= 1.25 * rules.LONGEST_OPEN_SECONDS + 0.001


def test_chance_spreads_the_probes_of_endpoints_that_failed_together():
    waits = set()
    for seed in range(20):
        asked = Asked()
        asked.fail(rules.OPEN_STREAK, seed=seed)
        waits.add(asked.take().wait_seconds)

    assert len(waits) > 10


@quickly
@given(st.lists(st.integers(0, 5000), min_size=1, max_size=20), st.integers(1, 500))
def test_while_it_is_open_nothing_is_granted_and_then_exactly_one(pauses, wanted):
    asked = opened()
    ends_at = asked.now_ms + round(asked.take(wanted).wait_seconds * 1000)
    for pause in pauses:
        if asked.now_ms + pause >= ends_at:
            break
        asked.pass_ms(pause)
        assert asked.take(wanted).granted == 0

    asked.now_ms = ends_at - 1
    assert asked.take(wanted).granted == 0
    asked.now_ms = ends_at
    assert [asked.take(wanted).granted for _ in range(3)] == [1, 0, 0]


def test_one_probe_goes_through_whoever_asks():
    asked = opened()
    asked.pass_ms(round(asked.take().wait_seconds * 1000))
    asked.leave()

    assert asked.take(50).granted == 1
    asked.leave()
    assert asked.take(50, token=OTHER_WORKER).granted == 0


def test_a_probe_that_is_never_heard_of_is_replaced():
    asked = opened()
    wait_for_probe(asked)

    asked.pass_ms(round(rules.PROBE_SECONDS * 1000) - 1)
    assert asked.take().granted == 0
    asked.pass_ms(1)

    assert asked.take(10).why == "probe"
    assert asked.report(Tally(good=1)) == "closed"


def test_a_probe_that_nobody_had_a_delivery_for_is_not_lost():
    asked = opened()
    wait_for_probe(asked)

    asked.give_back_probe()

    assert asked.take(10).why == "probe"
    assert asked.take(10).granted == 0


def test_giving_back_a_probe_that_has_been_judged_meanwhile_changes_nothing():
    closed, open_again = opened(), opened()
    for asked in (closed, open_again):
        wait_for_probe(asked)
    closed.report(Tally(good=1))
    open_again.fail(1)
    wait = open_again.take().wait_seconds

    closed.give_back_probe()
    open_again.give_back_probe()

    assert closed.take().why == "ramp"
    assert open_again.take().wait_seconds == wait


@pytest.mark.parametrize(("good", "bad"), [(0, rules.OPEN_STREAK - 1), (9, 9), (11, 9), (1, 18)])
def test_too_few_results_open_nothing(good, bad):
    asked = Asked()

    assert asked.report(tally(good, bad, 0)) == "closed"


def test_a_share_of_failures_opens_it_once_there_are_enough_results():
    asked = Asked()
    states = [asked.report(Tally(good=1, bad=1)) for _ in range(rules.OPEN_SAMPLES // 2)]

    assert states == ["closed"] * (len(states) - 1) + ["open"]


def test_failures_long_apart_are_no_window_but_still_a_streak():
    asked = Asked()
    states = []
    for _ in range(rules.OPEN_STREAK):
        asked.pass_ms(120_000)
        states.append(asked.fail(1))

    assert states == ["closed"] * (rules.OPEN_STREAK - 1) + ["open"]


def test_a_success_closes_it_onto_a_ramp():
    asked = opened()
    wait_for_probe(asked)

    assert asked.report(Tally(good=1)) == "closed"

    first = asked.take(10_000)
    assert first.why == "ramp"
    assert 1 <= first.granted < rules.RAMP_FULL_PER_SECOND / 10


def test_results_that_were_on_their_way_when_it_opened_say_nothing():
    asked = opened()
    wait = asked.take().wait_seconds

    assert asked.report(Tally(good=3)) == "open"
    assert asked.fail(30) == "open"

    assert asked.take().wait_seconds == wait


def test_an_endpoint_that_asked_for_less_is_held_and_comes_back_on_a_ramp():
    asked = Asked(limit=640)
    asked.report(Tally(good=1, hold_seconds=30))

    assert (asked.take().granted, asked.take().wait_seconds, asked.take().why) == (0, 30, "held")
    asked.pass_ms(30_000)
    assert (asked.take(10_000).granted, asked.take().why) == (2, "ramp")


def test_a_shorter_hold_does_not_shorten_a_longer_one():
    asked = Asked()
    asked.report(Tally(good=1, hold_seconds=120))

    asked.report(Tally(good=1, hold_seconds=0))

    assert asked.take().wait_seconds == 120


def test_enabling_again_forgets_the_circuit_and_the_hold():
    asked = opened()
    asked.report(Tally(good=1, hold_seconds=600))

    asked.resume(afresh=True)

    assert asked.take(10_000).why == "ramp"


def bell_ms(asked: Asked) -> int:
    """How long the bell counts as rung; -2 when it does not."""
    return redis_client().pttl(*keys(asked.id, "bell"))


def test_nobody_is_rung_for_an_endpoint_to_which_nothing_may_be_sent():
    broken, held, well = opened(), Asked(), Asked()
    held.report(Tally(good=1, hold_seconds=30))
    for asked in (broken, held, well):
        wait_ms = asked.take().wait_seconds * 1000
        asked.leave()
        assert wait_ms - 1000 < bell_ms(asked) <= wait_ms or (asked is well and bell_ms(asked) == -2)


def test_enabling_again_lets_the_bell_ring_and_so_does_a_probe_that_came_through():
    enabled, recovered = opened(), opened()
    for asked in (enabled, recovered):
        asked.leave()
        assert bell_ms(asked) > 0

    enabled.resume(afresh=True)
    wait_for_probe(recovered)
    recovered.report(Tally(good=1))

    assert bell_ms(enabled) == bell_ms(recovered) == -2
