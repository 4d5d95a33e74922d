"""One endpoint in a drain: how much is claimed next, what is waited for, and when it is done."""

from concurrent.futures import Executor, Future

import pytest

from deliveries.drain import lane as module
from deliveries.drain.channel import Channel
from deliveries.drain.lane import (
    GATHER_SECONDS,
    KEEPS_UP_SECONDS,
    LARGEST_CLAIM,
    SHORT_WAIT_SECONDS,
    SMALLEST_CLAIM,
    Lane,
)
from deliveries.drain.outbox import Outbox
from deliveries.outcomes import Exchange
from deliveries.pacing import Allowance
from tests.unit.deliveries.claims import a_claim, a_recipient, judged

NOW = 1000.0


class Threads(Executor):
    """Sends nothing until told to."""

    def __init__(self) -> None:
        self.jobs: list = []

    def submit(self, job, /, *args, **kwargs) -> Future:
        self.jobs.append(job)
        return Future()

    def run(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = NOW

        def monotonic(self) -> float:
            return self.now

    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def open_lane(threads: Threads, *, exchange: Exchange | None = None, was_slow: bool = False, **recipient) -> Lane:
    answer = exchange or Exchange(status_code=200, duration_ms=10)
    channel = Channel(a_recipient(**recipient), lambda claimed, _: judged(claimed, answer), Outbox(), threads)
    return Lane(channel, was_slow=was_slow, closes_at=NOW + 15)


def claims(count: int) -> list:
    return [a_claim() for _ in range(count)]


class TestHunger:
    def test_a_new_lane_is_hungry_and_not_finished(self, threads):
        lane = open_lane(threads)

        assert lane.is_hungry(NOW)
        assert not lane.is_finished

    def test_one_that_has_enough_to_send_is_not(self, threads):
        lane = open_lane(threads)
        lane.feed(claims(16), wanted=16)

        assert not lane.is_hungry(NOW)

    def test_one_whose_queue_runs_low_is_hungry_before_it_is_empty(self, threads):
        lane = open_lane(threads, max_concurrency=1)
        lane.feed(claims(16), wanted=16)
        for _ in range(12):
            lane.channel._next()

        assert lane.channel.waiting == 4
        assert lane.is_hungry(NOW)

    def test_fewer_rows_than_wanted_mean_that_nothing_more_is_due(self, threads):
        lane = open_lane(threads)
        lane.feed(claims(3), wanted=16)
        assert not lane.is_finished

        threads.run()

        assert not lane.is_hungry(NOW)
        assert lane.is_finished

    def test_a_closed_channel_is_fed_no_more(self, threads):
        lane = open_lane(threads)
        lane.channel.stop()

        assert not lane.is_hungry(NOW)
        assert lane.is_finished

    def test_resting_ends_by_itself(self, threads):
        lane = open_lane(threads)

        lane.rest(until=NOW + 2)

        assert not lane.is_hungry(NOW + 1.9)
        assert lane.is_hungry(NOW + 2)


class TestTheClaimSize:
    def feed_again_after(self, lane: Lane, clock, seconds: float) -> None:
        clock.now += seconds
        lane.feed(claims(lane.claim_size), wanted=lane.claim_size)

    def test_it_begins_small_but_fills_every_slot(self, threads):
        assert open_lane(threads).claim_size == SMALLEST_CLAIM
        assert open_lane(threads, max_concurrency=100).claim_size == 100

    def test_it_doubles_while_the_endpoint_keeps_up_and_stays_within_bounds(self, threads, clock):
        lane = open_lane(threads)
        lane.feed(claims(SMALLEST_CLAIM), wanted=SMALLEST_CLAIM)
        sizes = []
        for _ in range(7):
            self.feed_again_after(lane, clock, KEEPS_UP_SECONDS / 2)
            sizes.append(lane.claim_size)

        assert sizes == [32, 64, 128, 256, LARGEST_CLAIM, LARGEST_CLAIM, LARGEST_CLAIM]

    def test_it_halves_when_the_endpoint_falls_behind_so_that_a_slow_one_holds_few(self, threads, clock):
        lane = open_lane(threads)
        lane.claim_size = 100
        lane.feed(claims(100), wanted=100)
        sizes = []
        for _ in range(4):
            self.feed_again_after(lane, clock, 3 * KEEPS_UP_SECONDS)
            sizes.append(lane.claim_size)

        assert sizes == [50, 25, SMALLEST_CLAIM, SMALLEST_CLAIM]


class TestAllowances:
    def test_a_short_wait_for_tokens_is_sat_out_long_enough_to_gather_some(self, threads):
        lane = open_lane(threads)

        lane.note_allowance(Allowance(4, 0.05, "limit", 50.0), NOW)

        assert lane.wait_until == NOW + GATHER_SECONDS
        assert not lane.is_finished
        # The next drain sits it out as well: no message is worth it.
        assert lane.wait_for_timer(NOW) == 0

    def test_a_long_wait_ends_the_lane_and_becomes_a_timer(self, threads):
        lane = open_lane(threads)

        lane.note_allowance(Allowance(0, SHORT_WAIT_SECONDS + 1, "limit", 2000.0), NOW)

        assert lane.is_finished
        assert lane.wait_for_timer(NOW) == SHORT_WAIT_SECONDS + 1

    def test_a_hold_is_waited_for_by_a_timer_even_if_short(self, threads):
        lane = open_lane(threads)

        lane.note_allowance(Allowance(0, 0.5, "held"), NOW)

        assert lane.wait_for_timer(NOW) == 0.5

    def test_an_endpoint_that_another_worker_drains_is_left_to_it(self, threads):
        lane = open_lane(threads)

        lane.note_allowance(Allowance(0, 0.0, "busy"), NOW)

        assert lane.is_busy_elsewhere
        assert lane.is_finished

    def test_nothing_due_after_all_is_no_wait(self, threads):
        lane = open_lane(threads)
        lane.note_allowance(Allowance(4, 0.5, "limit", 50.0), NOW)

        lane.feed([], wanted=4)

        assert lane.is_finished
        assert lane.wait_for_timer(NOW) == 0

    def test_it_knows_what_unused_requests_cost(self, threads):
        lane = open_lane(threads)
        lane.note_allowance(Allowance(4, 0.0, "limit", 50.0), NOW)

        assert lane.cost_ms(3) == 150.0


class TestTheCircuit:
    @pytest.mark.parametrize("circuit", ["open", "half-open"])
    def test_unless_it_is_closed_nothing_more_is_sent(self, threads, circuit):
        lane = open_lane(threads)
        lane.feed(claims(16), wanted=16)

        lane.note_circuit(circuit)
        threads.run()

        assert lane.channel.is_closed
        assert lane.channel.sent == 0

    def test_after_a_probe_that_came_through_it_goes_on(self, threads):
        lane = open_lane(threads)
        lane.note_allowance(Allowance(1, 45.0, "probe"), NOW)
        lane.feed(claims(1), wanted=1)
        threads.run()
        assert not lane.is_hungry(NOW)

        lane.note_circuit("closed")

        assert lane.is_hungry(NOW)
        assert not lane.is_finished

    def test_a_closed_one_changes_nothing_without_a_probe(self, threads):
        lane = open_lane(threads)
        lane.feed(claims(3), wanted=16)
        threads.run()

        lane.note_circuit("closed")

        assert lane.is_finished


class TestSlowness:
    @pytest.mark.parametrize(
        ("exchange", "is_slow"),
        [
            (Exchange(status_code=200, duration_ms=10), False),
            (Exchange(status_code=200, duration_ms=module.SLOW_ANSWER_MS), True),
            (Exchange(status_code=500, duration_ms=10), True),
            (Exchange(status_code=422, duration_ms=10), False),
        ],
    )
    def test_it_is_judged_by_what_was_sent(self, threads, exchange, is_slow):
        lane = open_lane(threads, exchange=exchange, was_slow=not is_slow)
        lane.feed(claims(3), wanted=16)
        threads.run()

        assert lane.is_slow is is_slow

    @pytest.mark.parametrize("was_slow", [True, False])
    def test_without_anything_sent_it_stays_what_it_was(self, threads, was_slow):
        assert open_lane(threads, was_slow=was_slow).is_slow is was_slow
