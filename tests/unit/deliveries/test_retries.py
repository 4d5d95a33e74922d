"""The decision after an attempt: whole schedules walked with a frozen clock, spread measured, bounds held."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deliveries.outcomes import MAX_RETRY_AFTER_SECONDS, Exchange, Failure, Kind, Outcome, Permanence, judge
from deliveries.retries import Decision, Done, GiveUp, GiveUpKind, Retry, backoff_seconds, decide
from endpoints.policies import EXPONENTIAL, SCHEDULE, SHIPPED, Policy

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DOWN = judge(Exchange(status_code=500), now=NOW)
POLICIES = {policy.name: policy for policy in SHIPPED}

policies = st.one_of(
    st.builds(
        Policy,
        name=st.just("any"),
        kind=st.just(EXPONENTIAL),
        base_seconds=st.integers(1, 600),
        cap_seconds=st.integers(600, 200_000),
        max_attempts=st.integers(1, 100),
    ),
    st.builds(
        Policy,
        name=st.just("any"),
        kind=st.just(SCHEDULE),
        schedule_seconds=st.lists(st.integers(1, 90_000), min_size=1, max_size=12).map(sorted).map(tuple),
        jitter=st.floats(0, 1),
        max_attempts=st.integers(1, 100),
    ),
)
attempts = st.integers(1, 100)
seeds = st.integers(0, 2**32)
transient = st.sampled_from([kind for kind in Kind if Outcome(kind, "").permanence is Permanence.TRANSIENT])


class LongestDraw(Random):
    """Chance at its worst: every draw is the upper bound."""

    def uniform(self, a: float, b: float) -> float:
        return b


def throttled(retry_after: float | None) -> Outcome:
    return Outcome(Kind.THROTTLED, "Answered 429.", retry_after_seconds=retry_after, slows_endpoint=True)


def after(
    attempt: int,
    outcome: Outcome = DOWN,
    *,
    policy: Policy = POLICIES["default"],
    deadline_at: datetime | None = None,
    rng: Random | None = None,
) -> Decision:
    return decide(policy, attempt, outcome, now=NOW, deadline_at=deadline_at, rng=rng or Random(1))


def walk(policy: Policy, rng: Random) -> tuple[int, GiveUp, timedelta]:
    """Fail from the first attempt on until the policy gives up: attempts made, how it ended, how long it took."""
    now, deadline_at, attempt = NOW, NOW + timedelta(seconds=policy.deadline_seconds), 0
    while True:
        attempt += 1
        now += timedelta(seconds=policy.timeout_seconds or 5)
        decision = decide(policy, attempt, DOWN, now=now, deadline_at=deadline_at, rng=rng)
        if isinstance(decision, GiveUp):
            return attempt, decision, now - NOW
        assert isinstance(decision, Retry)
        now += timedelta(seconds=decision.delay_seconds)


def distance_from_uniform(draws: list[float], low: float, high: float) -> float:
    """The Kolmogorov-Smirnov statistic of the draws against an even spread over low..high."""
    ordered = sorted(draws)
    count = len(ordered)
    shares = [(draw - low) / (high - low) for draw in ordered]
    return max(max((rank + 1) / count - share, share - rank / count) for rank, share in enumerate(shares))


@pytest.mark.parametrize("rng", [Random(7), LongestDraw()], ids=["seeded", "longest-draws"])
@pytest.mark.parametrize("name", POLICIES)
def test_a_failing_delivery_gets_exactly_the_attempts_of_its_policy(name: str, rng: Random) -> None:
    policy = POLICIES[name]

    made, decision, taken = walk(policy, rng)

    assert made == policy.max_attempts
    assert decision.kind is GiveUpKind.EXHAUSTED
    assert taken.total_seconds() < policy.deadline_seconds


def test_the_six_step_policy_waits_what_it_says_plus_up_to_a_tenth() -> None:
    steps = [60, 300, 1_800, 7_200, 36_000, 86_400]

    for attempt, step in enumerate(steps, start=1):
        draws = [backoff_seconds(POLICIES["six-step"], attempt, Random(seed)) for seed in range(300)]
        assert step <= min(draws) < step * 1.01
        assert step * 1.09 < max(draws) <= step * 1.1


def test_the_default_window_doubles_up_to_the_cap() -> None:
    windows = [backoff_seconds(POLICIES["default"], attempt, LongestDraw()) for attempt in range(1, 16)]

    assert windows == [min(30 * 2**n, 43_200) for n in range(15)]


@pytest.mark.parametrize("attempt", [1, 2, 6, 12])
def test_five_thousand_deliveries_that_fail_together_come_back_evenly_over_the_whole_window(attempt: int) -> None:
    rng = Random(20_260_301)
    window = min(30 * 2 ** (attempt - 1), 43_200)

    delays = [after(attempt, rng=rng).delay_seconds for _ in range(5_000)]  # type: ignore[union-attr]

    # 1.63 / sqrt(n) is the 1 % point; a fixed delay scores 0.5 or more, equal jitter 0.5, a 2 s floor 0.067.
    assert distance_from_uniform(delays, 0, window) < 1.63 / 5_000**0.5


def test_the_spread_of_a_schedule_is_even_over_its_jitter() -> None:
    rng = Random(20_260_302)

    delays = [backoff_seconds(POLICIES["six-step"], 2, rng) for _ in range(5_000)]

    assert distance_from_uniform(delays, 300, 330) < 1.63 / 5_000**0.5


@pytest.mark.parametrize("delay", [15.0, 30.0])
def test_the_measure_of_spread_catches_a_fixed_delay(delay: float) -> None:
    assert distance_from_uniform([delay] * 5_000, 0, 30) >= 0.5


def test_twenty_five_deliveries_throttled_together_are_released_gradually() -> None:
    rng = Random(5)

    delays = sorted(after(1, throttled(1.5), rng=rng).delay_seconds for _ in range(25))  # type: ignore[union-attr]

    assert delays[0] >= 1.5
    busiest = max(bisect_right(delays, start + 2) - rank for rank, start in enumerate(delays))
    assert busiest <= 10


def test_a_long_retry_after_is_followed_by_an_even_spread_not_by_a_wall() -> None:
    rng = Random(20_260_303)

    delays = [after(1, throttled(3_600), rng=rng).delay_seconds for _ in range(5_000)]  # type: ignore[union-attr]

    assert distance_from_uniform(delays, 3_600, 3_960) < 1.63 / 5_000**0.5


@pytest.mark.parametrize("name", POLICIES)
def test_a_throttled_delivery_waits_one_step_longer(name: str) -> None:
    policy = POLICIES[name]

    for attempt in range(1, policy.max_attempts - 1):
        decision = after(attempt, throttled(None), policy=policy)
        assert isinstance(decision, Retry)
        assert decision.delay_seconds == backoff_seconds(policy, attempt + 1, Random(1))


@pytest.mark.parametrize("kind", [kind for kind in Kind if Outcome(kind, "").permanence is Permanence.PERMANENT])
def test_a_permanent_failure_is_given_up_on_the_first_attempt_with_its_own_reason(kind: Kind) -> None:
    assert after(1, Outcome(kind, "The reason.")) == GiveUp("The reason.", GiveUpKind.PERMANENT)


def test_a_body_too_large_for_the_receiver_is_not_tried_again() -> None:
    assert isinstance(after(1, judge(Exchange(status_code=413), now=NOW)), GiveUp)


def test_a_delivered_one_is_done_even_past_its_attempts_and_its_deadline() -> None:
    delivered = judge(Exchange(status_code=200), now=NOW)

    assert after(99, delivered, deadline_at=NOW - timedelta(days=1)) == Done()


@pytest.mark.parametrize("attempt", [16, 17, 400])
def test_the_last_attempt_is_the_last_and_says_so(attempt: int) -> None:
    decision = after(attempt, judge(Exchange(failure=Failure.TIMEOUT), now=NOW))

    assert isinstance(decision, GiveUp)
    assert decision.kind is GiveUpKind.EXHAUSTED
    assert "16 attempts" in decision.reason
    assert "No answer within" in decision.reason


def test_a_retry_that_would_start_at_or_after_the_deadline_is_given_up_now() -> None:
    wait = 30.0

    late = after(1, deadline_at=NOW + timedelta(seconds=wait), rng=LongestDraw())
    early = after(1, deadline_at=NOW + timedelta(seconds=wait + 0.001), rng=LongestDraw())

    assert isinstance(late, GiveUp)
    assert late.kind is GiveUpKind.EXPIRED
    assert "2026-03-01 00:00:30 UTC" in late.reason
    assert isinstance(early, Retry)
    assert early.delay_seconds == wait


def test_a_retry_after_beyond_the_deadline_is_given_up_rather_than_waited_for() -> None:
    decision = after(1, throttled(3_600), deadline_at=NOW + timedelta(minutes=30))

    assert isinstance(decision, GiveUp)
    assert decision.kind is GiveUpKind.EXPIRED


@pytest.mark.parametrize("switch", ["2026-03-08", "2026-11-01"])
def test_the_deadline_is_kept_to_the_second_across_a_change_of_the_clocks(switch: str) -> None:
    zone = ZoneInfo("America/New_York")
    now = datetime.fromisoformat(f"{switch}T00:30:00").replace(tzinfo=zone)
    policy = Policy("hourly", SCHEDULE, schedule_seconds=(7_200,), max_attempts=9)
    kept = (now.astimezone(UTC) + timedelta(seconds=7_201)).astimezone(zone)
    missed = (now.astimezone(UTC) + timedelta(seconds=7_199)).astimezone(zone)

    assert isinstance(decide(policy, 1, DOWN, now=now, deadline_at=kept, rng=Random(1)), Retry)
    assert isinstance(decide(policy, 1, DOWN, now=now, deadline_at=missed, rng=Random(1)), GiveUp)


def test_the_reason_of_a_retry_names_the_attempt_the_class_and_the_wish_of_the_endpoint() -> None:
    decision = after(3, throttled(120))

    assert isinstance(decision, Retry)
    assert decision.reason.startswith("Attempt 3 of 16 ended as throttled; next in ")
    assert decision.reason.endswith("as the endpoint asked for at least 120 s.")


@given(policies, attempts, transient, st.none() | st.floats(0, MAX_RETRY_AFTER_SECONDS), seeds)
def test_a_retry_is_never_earlier_than_the_own_backoff_nor_than_the_endpoint_asked(
    policy: Policy, attempt: int, kind: Kind, asked: float | None, seed: int
) -> None:
    outcome = Outcome(kind, "A reason.", retry_after_seconds=asked)

    decision = decide(policy, attempt, outcome, now=NOW, deadline_at=None, rng=Random(seed))

    if attempt >= policy.max_attempts:
        assert isinstance(decision, GiveUp)
        return
    assert isinstance(decision, Retry)
    step = attempt + 1 if kind is Kind.THROTTLED else attempt
    assert decision.delay_seconds >= backoff_seconds(policy, step, Random(seed))
    assert decision.delay_seconds >= (asked or 0)


@given(policies, attempts, transient, st.none() | st.floats(0, MAX_RETRY_AFTER_SECONDS), st.floats(-1e6, 1e6), seeds)
def test_no_retry_starts_at_or_after_the_deadline(
    policy: Policy, attempt: int, kind: Kind, asked: float | None, left: float, seed: int
) -> None:
    deadline_at = NOW + timedelta(seconds=left)
    outcome = Outcome(kind, "A reason.", retry_after_seconds=asked)

    decision = decide(policy, attempt, outcome, now=NOW, deadline_at=deadline_at, rng=Random(seed))

    if isinstance(decision, Retry):
        assert NOW + timedelta(seconds=decision.delay_seconds) <= deadline_at
        assert decision.delay_seconds < left or left == pytest.approx(decision.delay_seconds)


@given(policies, st.integers(1, 10**9), seeds)
def test_the_backoff_stays_inside_the_policys_bounds_for_any_attempt(policy: Policy, attempt: int, seed: int) -> None:
    wait = backoff_seconds(policy, attempt, Random(seed))

    if policy.kind == EXPONENTIAL:
        assert 0 <= wait <= policy.cap_seconds
    else:
        assert policy.schedule_seconds[0] <= wait <= policy.schedule_seconds[-1] * (1 + policy.jitter)
