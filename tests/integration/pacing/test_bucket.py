"""The rate limit on a real Valkey, beside a bucket of tokens."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from deliveries.pacing.rules import burst_size
from tests.integration.pacing.asking import OTHER_WORKER, Asked
from tests.integration.pacing.models import Bucket

RATES = st.one_of(st.integers(1, 10_000).map(float), st.floats(0.05, 300))
STEPS = st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 600)), min_size=1, max_size=30)
"""Milliseconds that go by, then requests wanted."""

quickly = settings(deadline=None, max_examples=50)


def new_bucket(asked: Asked) -> Bucket:
    assert asked.limit is not None
    return Bucket(asked.limit, burst_size(asked.limit), at_ms=asked.now_ms)


@quickly
@given(RATES, STEPS)
def test_it_grants_what_a_bucket_of_tokens_holds(rate, steps):
    asked = Asked(limit=rate)
    bucket = new_bucket(asked)
    for pause, wanted in steps:
        asked.pass_ms(pause)
        bucket.pass_until(asked.now_ms)

        granted = asked.take(wanted).granted

        fewest, most = bucket.allows(wanted)
        assert max(fewest, 0) <= granted <= most
        bucket.pay(granted)


@quickly
@given(RATES, STEPS)
def test_no_window_of_time_gets_more_than_its_share_and_one_burst(rate, steps):
    asked, grants = Asked(limit=rate), []
    for pause, wanted in steps:
        asked.pass_ms(pause)
        grants.append((asked.now_ms, asked.take(wanted).granted))

    for first in range(len(grants)):
        for last in range(first, len(grants)):
            seconds = (grants[last][0] - grants[first][0]) / 1000
            assert sum(granted for _, granted in grants[first : last + 1]) <= rate * seconds + burst_size(rate) + 0.01


@quickly
@given(st.floats(0.5, 3000), st.lists(st.integers(1, 150), min_size=10, max_size=40))
def test_who_keeps_asking_gets_the_whole_limit(rate, pauses):
    asked, granted, began = Asked(limit=rate), 0, 0
    while asked.take(10_000).granted:
        began = asked.now_ms
    # Each question comes before the bucket can run over: what is left of a token and what the pause adds fit into it.
    longest = max(1, math.floor(1000 * (burst_size(rate) - 1) / rate))
    for pause in pauses:
        asked.pass_ms(min(pause, longest))
        granted += asked.take(10_000).granted

    due = rate * (asked.now_ms - began) / 1000
    assert granted >= math.floor(0.95 * due - 0.01)


@quickly
@given(RATES, STEPS)
def test_the_wait_it_names_is_exact(rate, steps):
    asked = Asked(limit=rate)
    for pause, wanted in steps:
        asked.pass_ms(pause)
        wait_ms = round(asked.take(wanted).wait_seconds * 1000)
        if not wait_ms:
            continue
        asked.pass_ms(wait_ms - 1)
        # A millisecond is whole tokens at fast rates, and rounding is a hair at any.
        if wait_ms > 1 and rate <= 500:
            assert asked.take(1).granted == 0 or 1000 / rate < 0.002
        asked.pass_ms(1)
        assert asked.take(1).granted == 1


@quickly
@given(RATES, st.lists(st.integers(1, 300), min_size=2, max_size=6), st.integers(0, 2000), st.randoms())
def test_in_which_order_and_in_how_many_questions_it_is_taken_does_not_matter(rate, parts, pause, chance):
    granted = []
    shuffled = chance.sample(parts, len(parts))
    for questions in (parts, shuffled, [sum(parts)]):
        asked = Asked(limit=rate)
        asked.take(10_000)
        asked.pass_ms(pause)
        granted.append(sum(asked.take(wanted).granted for wanted in questions))

    assert granted[0] == granted[1] == granted[2]


@quickly
@given(RATES, STEPS, st.integers(1, 200))
def test_what_is_given_back_can_be_taken_again_and_no_more(rate, steps, wanted):
    asked = Asked(limit=rate)
    for pause, count in steps:
        asked.pass_ms(pause)
        asked.take(count)
    asked.pass_ms(500)

    first = asked.take(wanted)
    for unused in range(first.granted + 1):
        asked.give_back(unused, first)
        again = asked.take(unused + 10_000)
        assert unused <= again.granted <= unused + max(0, burst_size(rate) - first.granted)
        asked.give_back(again.granted - unused, again)
        if unused > 3:
            break


def test_giving_back_never_fills_a_bucket_over_the_brim():
    asked = Asked(limit=20)
    allowance = asked.take(4)

    asked.give_back(1000, allowance)

    assert asked.take(1000).granted == burst_size(20)


def test_two_workers_in_turn_share_one_limit():
    asked = Asked(limit=20)
    asked.take(4)
    asked.leave()

    assert asked.take(4, token=OTHER_WORKER).granted == 0
    asked.pass_ms(100)
    assert asked.take(4, token=OTHER_WORKER).granted == 2


def test_a_raised_limit_holds_at_once_however_slow_the_old_one_was():
    asked = Asked(limit=0.05)
    asked.take(1)
    assert asked.take(1).wait_seconds == 20

    asked.limit = 100

    assert asked.take(1).wait_seconds <= 1 / 100
    asked.pass_ms(10)
    assert asked.take(1).granted == 1


def test_a_lowered_limit_holds_at_once():
    asked = Asked(limit=1000)
    asked.take(1000)

    asked.limit = 2
    asked.pass_ms(10_000)
    granted = 0
    for _ in range(100):
        granted += asked.take(1000).granted
        asked.pass_ms(100)

    assert 19 <= granted <= 21


@quickly
@given(st.floats(1, 1000), st.integers(1000, 10_000_000))
def test_a_server_whose_clock_went_back_stops_nobody(rate, back_ms):
    asked = Asked(limit=rate, now_ms=1_750_000_000_000)
    asked.take(10_000)

    asked.now_ms -= back_ms

    # At worst one token has to drip in.
    assert asked.take(1).granted or asked.take(1).wait_seconds <= 1 / rate + 0.001


def test_without_a_limit_everything_asked_for_is_granted():
    asked = Asked()

    assert [asked.take(500).granted for _ in range(3)] == [500, 500, 500]
