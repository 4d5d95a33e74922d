"""Pacing on a real Valkey: one worker an endpoint, the rate with its burst, holds, the circuit and the ramp.

Times are given to the scripts, so that an hour passes at once.
"""

import random
import time
from itertools import pairwise

import pytest
import redis

from deliveries.pacing import Allowance, Tally, describe, gate, give_back, leave, new_token, report, resume, rules, take
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from tests.broker import broker_away

__all__ = ["broker_away"]

pytestmark = pytest.mark.usefixtures("empty_redis")

ONE, TWO = "the first worker", "the second worker"
ENDPOINT, OTHER = 7, 8
NOON = 1_700_000_000.0
"""Seconds; any time will do."""


def ask(count: int, rate: float | None = None, *, at: float = NOON, token: str = ONE, id: int = ENDPOINT) -> Allowance:
    return take(token, {id: (count, rate)}, now_ms=round(at * 1000))[id]


def tell(*, at: float = NOON, rng: random.Random | None = None, **figures) -> str:
    return report({ENDPOINT: Tally(**figures)}, rng=rng or random.Random(1), now_ms=round(at * 1000))[ENDPOINT]


def open_the_circuit(at: float = NOON) -> None:
    assert tell(at=at, bad=rules.OPEN_STREAK, streak=rules.OPEN_STREAK) == "open"


class TestOneWorkerAnEndpoint:
    def test_the_other_is_told_that_somebody_is_at_it(self):
        ask(1)

        assert ask(1, token=TWO) == Allowance(0, 0.0, "busy")
        assert ask(1).granted == 1

    def test_one_question_covers_many_endpoints_and_each_has_its_own_worker(self):
        ask(1, token=TWO, id=OTHER)

        answers = take(ONE, {ENDPOINT: (5, None), OTHER: (5, None)})

        assert {id: (answer.granted, answer.is_busy) for id, answer in answers.items()} == {
            ENDPOINT: (5, False),
            OTHER: (0, True),
        }

    def test_after_one_has_left_the_other_may_come(self):
        ask(1)

        leave(ONE, [ENDPOINT])

        assert ask(1, token=TWO).granted == 1

    def test_nobody_gives_up_the_lease_of_another(self):
        ask(1)

        leave(TWO, [ENDPOINT])

        assert ask(1, token=TWO).is_busy

    def test_the_leaving_worker_hears_of_the_one_that_knocked(self):
        ask(1)
        ask(1, id=OTHER)
        ask(1, token=TWO)

        assert leave(ONE, [ENDPOINT, OTHER]) == {ENDPOINT}
        # Said once: the next worker starts with a clean door.
        ask(1)
        assert leave(ONE, [ENDPOINT]) == set()

    def test_the_lease_of_a_dead_worker_ends_by_itself(self, monkeypatch):
        monkeypatch.setattr(rules, "LEASE_SECONDS", 0.05)
        ask(1)

        began = time.monotonic()
        while ask(1, token=TWO).is_busy:
            assert time.monotonic() - began < 5

    def test_every_take_renews_the_lease(self):
        (lease,) = keys(ENDPOINT, "lease")
        ask(1)
        redis_client().pexpire(lease, 1000)

        ask(1)

        assert redis_client().pttl(lease) > 1000

    def test_each_drain_has_a_token_of_its_own(self):
        assert new_token() != new_token()


class TestTheRate:
    def test_without_a_limit_everything_asked_for_is_granted(self):
        assert ask(500) == Allowance(500, 0.0, "free")
        assert ask(500) == Allowance(500, 0.0, "free")

    def test_the_burst_goes_out_at_once_and_then_one_an_interval(self):
        assert ask(100, 20) == Allowance(4, 0.05, "limit", 50.0)
        assert ask(100, 20, at=NOON + 0.049).granted == 0
        assert ask(100, 20, at=NOON + 0.051).granted == 1

    def test_a_quiet_hour_saves_up_no_more_than_the_burst(self):
        ask(4, 20)

        assert ask(100, 20, at=NOON + 3600).granted == 4

    @pytest.mark.parametrize("rate", [0.5, 1, 3, 20, 333])
    def test_no_second_ever_grants_more_than_the_rate_and_the_burst(self, rate):
        rng = random.Random(rate)
        moments = sorted(NOON + rng.uniform(0, 10) for _ in range(300))

        granted = [(moment, ask(rng.randint(1, 50), rate, at=moment).granted) for moment in moments]

        for start, _ in granted:
            in_a_second = sum(count for moment, count in granted if start <= moment < start + 1)
            assert in_a_second <= rate + rules.burst_size(rate) + 1e-6
        assert sum(count for _, count in granted) >= 0.8 * rate * 9

    def test_the_wait_named_is_the_wait_that_is_needed(self):
        wait = ask(100, 0.1).wait_seconds

        assert wait == pytest.approx(10, abs=0.01)
        assert ask(1, 0.1, at=NOON + wait - 0.01).granted == 0
        assert ask(1, 0.1, at=NOON + wait).granted == 1

    def test_two_workers_in_turn_share_one_limit(self):
        ask(4, 20)
        leave(ONE, [ENDPOINT])

        assert ask(4, 20, token=TWO).granted == 0

    def test_what_was_granted_and_not_used_can_be_given_back(self):
        allowance = ask(4, 20)

        give_back({ENDPOINT: 3 * allowance.interval_ms})

        assert ask(100, 20).granted == 3

    def test_the_servers_clock_counts_when_no_time_is_given(self):
        first, second = (take(ONE, {ENDPOINT: (100, 2)})[ENDPOINT] for _ in range(2))

        assert (first.granted, second.granted) == (1, 0)
        assert 0 < second.wait_seconds <= 0.5


class TestAHold:
    def test_nothing_goes_out_whatever_the_rate(self):
        tell(good=1, hold_seconds=30.0)

        for rate in (None, 1000):
            assert ask(5, rate, at=NOON + 10) == Allowance(0, 20.0, "held")

    def test_one_without_a_time_lasts_a_little(self):
        tell(good=1, hold_seconds=0.0)

        assert ask(5).wait_seconds == rules.SLOW_DOWN_SECONDS

    def test_after_it_comes_a_ramp_and_not_a_wall(self):
        tell(good=1, hold_seconds=30.0)

        allowance = ask(1000, at=NOON + 30)

        assert allowance.why == "ramp"
        assert 0 < allowance.granted < 10


class TestTheCircuit:
    def test_failures_in_a_row_open_it_and_nothing_goes_out(self):
        assert tell(bad=rules.OPEN_STREAK - 1, streak=rules.OPEN_STREAK - 1) == "closed"
        assert tell(bad=1, streak=rules.OPEN_STREAK) == "open"

        allowance = ask(100)
        assert (allowance.granted, allowance.why) == (0, "open")
        assert rules.FIRST_OPEN_SECONDS <= allowance.wait_seconds <= rules.FIRST_OPEN_SECONDS * 1.25

    def test_a_success_in_between_starts_the_count_again(self):
        tell(bad=4, streak=4)
        tell(good=1, streak=0)

        assert tell(bad=4, streak=4) == "closed"

    def test_every_second_one_failing_opens_it_once_there_are_enough(self):
        answers = [tell(good=1, bad=1, streak=0) for _ in range(rules.OPEN_SAMPLES // 2)]

        assert answers == ["closed"] * (len(answers) - 1) + ["open"]

    def test_a_mostly_healthy_endpoint_stays_closed_however_many_fail(self):
        for minute in range(50):
            assert tell(at=NOON + minute, good=100, bad=20, streak=0) == "closed"

    def test_one_probe_goes_through_and_no_second_one(self):
        open_the_circuit()
        later = NOON + 20

        assert ask(100, at=later).granted == 1
        assert ask(100, at=later).granted == 0
        # Should the worker with the probe die, another may try after a while.
        assert ask(100, at=later + rules.PROBE_SECONDS).granted == 1

    def test_a_probe_that_came_through_closes_it_and_a_ramp_begins(self):
        open_the_circuit()
        ask(100, at=NOON + 20)

        assert tell(at=NOON + 20, good=1) == "closed"
        assert ask(100, at=NOON + 20).why == "ramp"

    def test_each_failed_probe_doubles_the_wait_up_to_the_longest(self):
        open_the_circuit()
        waits, now = [], NOON
        for _ in range(8):
            wait = ask(1, at=now).wait_seconds
            waits.append(wait)
            now += wait
            assert ask(1, at=now).granted == 1
            assert tell(at=now, bad=1, streak=1) == "open"

        assert all(1.5 < later / sooner < 2.6 for sooner, later in pairwise(waits[:5]))
        assert max(waits) <= rules.LONGEST_OPEN_SECONDS * 1.25
        assert waits[-1] >= rules.LONGEST_OPEN_SECONDS

    def test_results_on_their_way_when_it_opened_change_nothing(self):
        open_the_circuit()
        before = describe([ENDPOINT])[ENDPOINT].times_opened

        assert tell(good=1) == "open"
        assert tell(bad=5, streak=5) == "open"
        assert describe([ENDPOINT])[ENDPOINT].times_opened == before

    def test_enabling_again_forgets_all_of_it(self):
        open_the_circuit()
        tell(bad=1, streak=1, hold_seconds=600.0)

        resume(ENDPOINT, "was disabled", afresh=True, now_ms=round(NOON * 1000))

        assert ask(100).why == "ramp"
        assert tell(bad=4, streak=4) == "closed"

    def test_endpoints_that_failed_together_are_not_probed_together(self):
        chances = random.Random(5)
        report({id: Tally(bad=5, streak=5) for id in range(10)}, rng=chances, now_ms=round(NOON * 1000))

        waits = {ask(1, id=id).wait_seconds for id in range(10)}
        assert len(waits) == 10


class TestTheRamp:
    def test_it_grows_to_the_full_rate_within_its_time(self):
        resume(ENDPOINT, "was paused", now_ms=round(NOON * 1000))
        granted_per_second = []
        for second in range(int(rules.RAMP_SECONDS) + 2):
            moments = [NOON + second + tenth / 10 for tenth in range(10)]
            granted_per_second.append(sum(ask(1000, 640, at=moment).granted for moment in moments))

        assert granted_per_second[1] <= 640 / 64 * 2
        assert granted_per_second[30] < 640 / 2
        assert granted_per_second[-1] == pytest.approx(640, abs=10)

    def test_it_ends_by_itself_and_an_endpoint_without_limit_is_free_again(self):
        resume(ENDPOINT, "was paused", now_ms=round(NOON * 1000))

        assert ask(500).why == "ramp"
        assert ask(500, at=NOON + rules.RAMP_SECONDS).why == "free"

    def test_the_slowest_endpoint_is_never_sped_up_by_it(self):
        resume(ENDPOINT, "was paused", now_ms=round(NOON * 1000))

        ask(1, 0.1)
        assert ask(1, 0.1, at=NOON + 9).granted == 0


def test_a_server_that_forgot_the_scripts_gets_them_again():
    def forget(answer: object) -> object:
        redis_client().script_flush()
        return answer

    forget(None)
    assert forget(ask(1).granted) == 1
    assert forget(tell(good=1)) == "closed"
    assert forget(leave(ONE, [ENDPOINT])) == set()
    resume(ENDPOINT, "was paused")
    assert describe([ENDPOINT])[ENDPOINT].ramp_reason == "was paused"


def test_a_server_that_forgot_everything_costs_one_burst():
    ask(4, 20)
    redis_client().flushdb()

    assert ask(100, 20).granted == 4


def test_every_key_expires():
    ask(1, 5)
    ask(1, token=TWO)
    tell(bad=5, streak=5, hold_seconds=5.0)
    resume(OTHER, "was paused")
    give_back({9: 50.0})

    found = list(redis_client().scan_iter("holdfast:*"))
    # What is given back to a server that forgot leaves no key at all.
    assert len(found) == 4
    assert [key for key in found if redis_client().pttl(key) < 0] == []


@pytest.mark.parametrize(
    "question",
    [
        lambda: ask(1),
        lambda: leave(ONE, [ENDPOINT]),
        lambda: tell(good=1),
        lambda: resume(ENDPOINT, "was paused"),
        lambda: describe([ENDPOINT]),
    ],
)
def test_with_nobody_to_count_there_is_no_answer(broker_away, question):
    with pytest.raises(redis.RedisError):
        question()


def test_nothing_asked_costs_nothing(broker_away):
    assert gate.report({}) == {}
    assert leave(ONE, []) == set()
    assert describe([]) == {}
    give_back({ENDPOINT: 0.0})
