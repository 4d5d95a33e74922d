"""The messages to the broker: one a set of endpoints, never two for a bell that rings, none that lasts too long."""

import json
import time

import pytest
from celery import current_app
from kombu import pools

from deliveries import dispatch
from deliveries.redis_client import redis_client
from tests.broker import CLOSED_PORT, broker_away, hung_redis

__all__ = ["broker_away", "hung_redis"]

pytestmark = pytest.mark.usefixtures("empty_redis")


def messages(queue: str) -> list[list[int]]:
    """The endpoint ids of each message in a queue, oldest first."""
    waiting = redis_client().lrange(queue, 0, -1)[::-1]
    return [json.loads(json.loads(text)["headers"]["argsrepr"])[0] for text in waiting]


def ids_in(queue: str) -> list[int]:
    return sorted(id for ids in messages(queue) for id in ids)


def seconds_left(name: str, id: int) -> float:
    return redis_client().pttl(f"holdfast:{{{id}}}:{name}") / 1000


@pytest.fixture
def broken_broker(monkeypatch):
    """Redis answers, but the broker is another one and is down."""
    monkeypatch.setattr(
        current_app.amqp, "_producer_pool", pools.producers[current_app.connection_for_write(CLOSED_PORT)]
    )


class TestWaking:
    def test_one_message_names_several_endpoints(self):
        assert dispatch.wake([3, 1, 2]) == 3

        assert messages("deliveries") == [[1, 2, 3]]

    @pytest.mark.parametrize(("endpoints", "sizes"), [(3, [3]), (8, [4, 4]), (16, [4, 4, 4, 4]), (100, [16] * 6 + [4])])
    def test_a_set_is_cut_into_messages_that_several_workers_can_share(self, endpoints, sizes):
        dispatch.wake(range(1, endpoints + 1))

        assert [len(ids) for ids in messages("deliveries")] == sizes

    def test_a_bell_that_rings_is_not_rung_again(self):
        dispatch.wake([1, 2])

        assert dispatch.wake([1, 2]) == 0
        assert dispatch.wake([2, 3]) == 1
        assert messages("deliveries") == [[1, 2], [3]]

    def test_once_a_task_has_begun_whoever_publishes_rings_again(self):
        dispatch.wake([1])

        dispatch.silence([1])

        assert dispatch.wake([1]) == 1

    def test_a_lost_message_silences_the_bell_for_a_while_only(self):
        dispatch.wake([1])

        assert 0 < seconds_left("bell", 1) <= dispatch.BELL_SECONDS

    def test_nobody_to_wake_costs_no_message(self):
        assert dispatch.wake([]) == 0
        assert messages("deliveries") == []

    def test_a_slow_endpoint_is_rung_for_on_the_slow_queue_until_it_is_healthy(self):
        dispatch.mark_slow([2])

        dispatch.wake([1, 2])
        assert ids_in("deliveries") == [1]
        assert ids_in("deliveries.slow") == [2]
        assert dispatch.silence([1, 2]) == {2}

        dispatch.mark_healthy([2])
        dispatch.wake([2])
        assert ids_in("deliveries") == [1, 2]

    def test_with_redis_away_nothing_is_raised(self, broker_away):
        assert dispatch.wake([1, 2]) == 0
        dispatch.mark_slow([1])
        dispatch.mark_healthy([1])

    def test_with_the_broker_away_nothing_is_raised_within_a_few_seconds(self, broken_broker):
        began = time.monotonic()

        assert dispatch.wake([1, 2]) == 0

        assert time.monotonic() - began < 5

    def test_a_broker_that_is_away_is_asked_once_in_five_seconds(self, monkeypatch):
        asked, now = [], [100.0]

        def refuse(*_keys: object) -> None:
            asked.append(now[0])
            raise OSError("nobody listens")

        monkeypatch.setattr(dispatch, "_ring_bells", refuse)
        for second in (100.0, 101.0, 104.9, 105.1):
            now[0] = second
            assert dispatch.wake([1], clock=lambda: now[0]) == 0

        assert asked == [100.0, 105.1]

    def test_a_hung_redis_is_waited_for_once(self, hung_redis):
        assert dispatch.wake([1]) == 0

        hung_redis.accept()[0].close()
        with pytest.raises(BlockingIOError):
            hung_redis.accept()


class TestTimers:
    def test_a_near_wait_is_handed_to_the_caller_and_a_far_one_to_the_sweep(self):
        near, far = dispatch.NEAR_SECONDS, dispatch.NEAR_SECONDS + 1

        assert dispatch.set_timers({1: near, 2: far, 3: 0.5}) == {1: near, 3: 0.5}

    def test_a_countdown_stays_well_inside_the_visibility_timeout(self):
        timeout = current_app.conf.broker_transport_options["visibility_timeout"]

        assert timeout / 3 >= dispatch.NEAR_SECONDS

    def test_an_endpoint_has_one_timer(self):
        dispatch.set_timers({1: 30})

        assert dispatch.set_timers({1: 30, 2: 30}) == {2: 30}
        assert dispatch.set_timers({1: 60}) == {}

    def test_an_earlier_time_gets_a_timer_of_its_own(self):
        dispatch.set_timers({1: 60})

        assert dispatch.set_timers({1: 10}) == {1: 10}
        assert dispatch.set_timers({1: 60}) == {}

    def test_a_lost_timer_is_forgotten_soon_after_its_time(self):
        dispatch.set_timers({1: 10})

        assert 10 < seconds_left("timer", 1) <= 10 + dispatch.BELL_SECONDS

    def test_a_wake_up_before_its_time_leaves_the_timer_set(self):
        dispatch.set_timers({1: 60})

        dispatch.silence([1])

        assert dispatch.set_timers({1: 59.5}) == {}

    def test_the_wake_up_of_the_timer_itself_clears_it(self):
        dispatch.set_timers({1: 0.5})

        dispatch.silence([1])

        assert dispatch.set_timers({1: 60}) == {1: 60}

    def test_who_shares_the_message_of_an_earlier_one_gets_the_next(self):
        # One message, for when the first is due, names both.
        assert dispatch.set_timers({1: 0.5, 2: 60}) == {1: 0.5, 2: 60}

        dispatch.silence([1, 2])

        assert dispatch.set_timers({2: 59.5}) == {2: 59.5}

    def test_with_redis_away_the_sweep_has_them(self, broker_away):
        assert dispatch.set_timers({1: 10}) == {}


class TestAnnouncing:
    def test_dead_letters_are_announced_on_their_own_queue(self):
        dispatch.announce([7, 5])

        assert redis_client().llen("dead_letters") == 1
        assert redis_client().llen("deliveries") == 0

    def test_none_costs_no_message(self):
        dispatch.announce([])

        assert redis_client().llen("dead_letters") == 0

    def test_with_the_broker_away_nothing_is_raised(self, broken_broker):
        dispatch.announce([7])
