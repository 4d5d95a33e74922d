"""One worker drains an endpoint at a time, and with nobody to count nothing is sent.

What a take grants (rates, holds, circuit, ramp) is tested beside this in `tests/integration/pacing`.
"""

import time
from collections.abc import Callable

import pytest
import redis

from deliveries.pacing import Allowance, Tally, describe, give_back, leave, new_token, report, resume, rules, take
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from tests.broker import broker_away

__all__ = ["broker_away"]

pytestmark = pytest.mark.usefixtures("empty_redis")

ONE, TWO = "the first worker", "the second worker"
ENDPOINT, OTHER = 7, 8


def ask(count: int, *, token: str = ONE, id: int = ENDPOINT) -> Allowance:
    return take(token, {id: (count, None)})[id]


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


@pytest.mark.parametrize(
    "question",
    [
        lambda: ask(1),
        lambda: leave(ONE, [ENDPOINT]),
        lambda: report({ENDPOINT: Tally(good=1)}),
        lambda: resume(ENDPOINT, "was paused"),
        lambda: describe([ENDPOINT]),
    ],
)
def test_with_nobody_to_count_there_is_no_answer(broker_away: None, question: Callable[[], object]):
    with pytest.raises(redis.RedisError):
        question()


def test_nothing_asked_costs_nothing(broker_away: None):
    assert report({}) == {}
    assert leave(ONE, []) == set()
    assert describe([]) == {}
    give_back({ENDPOINT: 0.0})


def test_what_is_given_back_leaves_no_key_behind_for_good():
    give_back({ENDPOINT: 50.0})

    found = list(redis_client().scan_iter("holdfast:*"))
    assert [key for key in found if redis_client().pttl(key) < 0] == []
