"""The ramp: from slow to full, never down, never above what the rules say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deliveries.pacing import Tally, rules
from tests.integration.pacing.asking import Asked

quickly = settings(deadline=None, max_examples=15)


def granted_each_second(asked: Asked, seconds: int) -> list[int]:
    """What somebody is granted, second by second, who asks again whenever he was told to."""
    began, figures = asked.now_ms, [0] * seconds
    while (second := (asked.now_ms - began) // 1000) < seconds:
        allowance = asked.take(100_000)
        figures[second] += allowance.granted
        asked.pass_ms(max(20, round(allowance.wait_seconds * 1000)))
    return figures


@quickly
@given(st.floats(0.1, 10_000))
def test_the_rate_never_falls_and_ends_at_the_limit(limit):
    rates = [rules.ramp_rate(limit, tenth / 10) for tenth in range(round(rules.RAMP_SECONDS) * 10 + 50)]

    assert rates == sorted(rates)
    assert rates[0] <= max(1, limit / 10)
    assert rates[-1] == pytest.approx(limit)
    assert max(later / earlier for earlier, later in zip(rates, rates[10:], strict=False)) < 1.1


@pytest.mark.parametrize("limit", [3.0, 100.0, None])
def test_what_is_granted_rises_as_the_rules_say(limit):
    asked = Asked(limit=limit)
    full = limit or rules.RAMP_FULL_PER_SECOND
    asked.resume()

    seconds = round(rules.RAMP_SECONDS)
    figures = granted_each_second(asked, seconds)

    planned = [rules.ramp_rate(full, second + 0.5) for second in range(seconds)]
    for so_far in range(1, seconds + 1):
        # The burst comes first; a request in the making is one more or less.
        assert sum(figures[:so_far]) <= sum(planned[:so_far]) * 1.01 + rules.burst_size(planned[so_far - 1]) + 2
        assert sum(figures[:so_far]) >= sum(planned[:so_far]) * 0.95 - 2
    assert all(got <= 1.1 * plan + rules.burst_size(plan) + 1 for got, plan in zip(figures, planned, strict=True))


def test_after_the_ramp_the_limit_holds_and_without_one_nothing_does():
    limited, free = Asked(limit=50), Asked()
    for asked in (limited, free):
        asked.resume()
        asked.pass_ms(round(rules.RAMP_SECONDS * 1000))

    assert limited.take(1000).granted == rules.burst_size(50)
    assert limited.take(1000).why == "limit"
    assert (free.take(100_000).granted, free.take().why) == (100_000, "free")


def test_the_ramp_after_a_hold_starts_when_the_hold_ends():
    asked = Asked(limit=640)
    asked.report(Tally(good=1, hold_seconds=600))
    asked.pass_ms(600_000)

    assert sum(granted_each_second(asked, 1)) <= rules.ramp_rate(640, 1) + rules.burst_size(10)


def test_a_ramp_is_slower_than_the_limit_also_for_who_saved_up_tokens():
    asked = Asked(limit=1000)
    asked.pass_ms(3_600_000)
    asked.resume()

    assert asked.take(10_000).granted <= rules.burst_size(rules.ramp_rate(1000, 0))
