"""The requests of one endpoint: how many at once, and what makes it stop."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import pytest

from deliveries.drain.channel import Channel
from deliveries.drain.outbox import Outbox
from deliveries.outcomes import Exchange, Failure
from deliveries.pacing import rules
from tests.unit.deliveries.claims import a_claim, a_recipient, judged

OK = Exchange(status_code=200, duration_ms=10)
WAIT_SECONDS = 10.0


class OneByOne(Executor):
    """Runs what it is given when told to, in the thread of the test."""

    def __init__(self) -> None:
        self.jobs: list[Callable] = []

    def submit(self, job, /, *args, **kwargs) -> Future:
        self.jobs.append(job)
        return Future()

    def run(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()


class Receiver:
    """Answers attempts in order, the last answer for ever."""

    def __init__(self, *answers: Exchange) -> None:
        self.answers = list(answers) or [OK]
        self.got: list[int] = []
        self.urls: list[str] = []

    def attempt(self, claimed, recipient):
        self.got.append(claimed.id)
        self.urls.append(recipient.url)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return judged(claimed, answer)


@pytest.fixture
def pool() -> OneByOne:
    return OneByOne()


def open_channel(pool: Executor, receiver: Receiver, **recipient) -> tuple[Channel, Outbox]:
    outbox = Outbox()
    return Channel(a_recipient(**recipient), receiver.attempt, outbox, pool), outbox


def claims(count: int) -> list:
    return [a_claim() for _ in range(count)]


def results(outbox: Outbox) -> list[int]:
    return [result.claimed.id for result in outbox._results]


def test_everything_fed_is_sent_once_in_order_and_reported(pool):
    receiver = Receiver()
    channel, outbox = open_channel(pool, receiver, max_concurrency=1)
    rows = claims(5)

    channel.feed(rows)
    idle = [channel.is_idle]
    pool.run()
    idle.append(channel.is_idle)

    assert idle == [False, True]
    assert receiver.got == results(outbox) == [row.id for row in rows]
    assert (channel.sent, channel.failed, channel.busy_ms) == (5, 0, 50)


@pytest.mark.parametrize(("rows", "concurrency", "threads"), [(20, 3, 3), (2, 8, 2), (1, 1, 1), (0, 8, 0)])
def test_it_brings_no_more_threads_than_it_may_or_needs(pool, rows, concurrency, threads):
    channel, _ = open_channel(pool, Receiver(), max_concurrency=concurrency)

    channel.feed(claims(rows))

    assert len(pool.jobs) == threads


def test_feeding_again_brings_only_the_threads_that_are_missing(pool):
    channel, _ = open_channel(pool, Receiver(), max_concurrency=3)
    channel.feed(claims(2))

    channel.feed(claims(10))

    assert len(pool.jobs) == 3


def test_threads_that_found_nothing_are_replaced_when_there_is_work_again(pool):
    channel, outbox = open_channel(pool, Receiver(), max_concurrency=3)
    channel.feed(claims(3))
    pool.run()

    channel.feed(claims(3))

    assert len(pool.jobs) == 3
    pool.run()
    assert len(results(outbox)) == 6


class TestClosing:
    def test_what_waits_is_returned_and_not_sent(self, pool):
        receiver = Receiver()
        channel, _ = open_channel(pool, receiver)
        rows = claims(5)
        channel.feed(rows)

        assert channel.close() == rows
        pool.run()

        assert receiver.got == []
        assert channel.is_idle
        assert channel.close() == []

    def test_a_request_in_flight_still_reports(self, pool):
        channel, outbox = open_channel(pool, receiver := Receiver(), max_concurrency=1)
        rows = claims(3)
        unsent = []

        def close_while_sending(claimed, recipient):
            unsent.extend(channel.close())
            return Receiver().attempt(claimed, recipient)

        channel._attempt = close_while_sending
        channel.feed(rows)
        pool.run()

        assert unsent == rows[1:]
        assert results(outbox) == [rows[0].id]
        assert receiver.got == []


class TestAnswersThatStopIt:
    def stopped_after(self, pool, *answers: Exchange, rows: int = 20, **recipient) -> int:
        receiver = Receiver(*answers)
        channel, _ = open_channel(pool, receiver, max_concurrency=1, **recipient)
        channel.feed(claims(rows))
        pool.run()
        assert len(receiver.got) + len(channel.close()) == rows
        return len(receiver.got)

    @pytest.mark.parametrize("status", [408, 425, 429, 502, 503, 504])
    def test_one_that_asks_for_less(self, pool, status):
        assert self.stopped_after(pool, OK, Exchange(status_code=status)) == 2

    def test_one_that_says_it_is_gone(self, pool):
        assert self.stopped_after(pool, Exchange(status_code=410)) == 1

    @pytest.mark.parametrize("answer", [Exchange(status_code=500), Exchange(failure=Failure.TIMEOUT)])
    def test_failures_in_a_row_as_many_as_open_the_circuit(self, pool, answer):
        assert self.stopped_after(pool, answer) == rules.OPEN_STREAK

    def test_not_failures_with_a_success_in_between(self, pool):
        bad = Exchange(status_code=500)
        answers = [*[bad] * (rules.OPEN_STREAK - 1), OK, *[bad] * (rules.OPEN_STREAK - 1), OK]

        assert self.stopped_after(pool, *answers) == 20

    @pytest.mark.parametrize("status", [301, 400, 401, 404, 413, 422])
    def test_not_refusals_of_single_events(self, pool, status):
        assert self.stopped_after(pool, Exchange(status_code=status)) == 20

    def test_not_faults_of_ours(self, pool):
        assert self.stopped_after(pool, Exchange(failure=Failure.INTERNAL)) == 20

    def test_in_strict_order_the_first_failure(self, pool):
        assert self.stopped_after(pool, OK, Exchange(status_code=500), OK, ordered=True) == 2

    @pytest.mark.parametrize(("blocks", "sent"), [(True, 2), (False, 20)])
    def test_in_strict_order_a_dead_letter_that_blocks(self, pool, blocks, sent):
        answers = [OK, Exchange(status_code=422), OK]

        assert self.stopped_after(pool, *answers, ordered=True, dead_letter_blocks=blocks) == sent


class TestTheTally:
    def tally_of(self, pool, *answers: Exchange):
        channel, _ = open_channel(pool, Receiver(*answers), max_concurrency=1)
        channel.feed(claims(len(answers)))
        pool.run()
        return channel, channel.take_tally()

    def test_it_counts_successes_failures_and_the_failures_at_the_end(self, pool):
        bad = Exchange(status_code=500)
        channel, tally = self.tally_of(pool, bad, OK, bad, bad)

        assert (tally.good, tally.bad, tally.streak) == (1, 3, 2)
        assert not channel.has_news

    def test_the_streak_goes_on_from_one_tally_to_the_next(self, pool):
        channel, _ = self.tally_of(pool, Exchange(status_code=500), Exchange(status_code=500))
        channel.feed(claims(1))
        pool.run()

        assert channel.take_tally().streak == 3

    def test_a_refusal_is_an_answer_of_an_endpoint_that_is_well(self, pool):
        _, tally = self.tally_of(pool, Exchange(status_code=422))

        assert (tally.good, tally.bad) == (1, 0)

    @pytest.mark.parametrize("failure", [Failure.BLOCKED, Failure.INTERNAL])
    def test_what_never_left_says_nothing_about_the_endpoint(self, pool, failure):
        channel, tally = self.tally_of(pool, Exchange(failure=failure))

        assert (tally.good, tally.bad) == (0, 0)
        assert not channel.has_news

    def test_it_holds_the_longest_time_that_was_asked_for(self, pool):
        throttled = [Exchange(status_code=429, retry_after=seconds) for seconds in ("3", "30", "nonsense")]
        channel, _ = open_channel(pool, Receiver())
        for exchange in throttled:
            channel._note(*judged(a_claim(), exchange))

        assert channel.take_tally().hold_seconds == 30

    def test_no_wish_is_no_hold(self, pool):
        assert self.tally_of(pool, OK)[1].hold_seconds is None


class TestReconfiguring:
    def test_the_next_request_goes_by_the_new_configuration(self, pool):
        receiver = Receiver()
        channel, _ = open_channel(pool, receiver)
        channel.feed(claims(1))

        channel.reconfigure(a_recipient(url="https://b.example/hook"))
        pool.run()

        assert receiver.urls == ["https://b.example/hook"]

    @pytest.mark.parametrize("recipient", [None, a_recipient(state="paused"), a_recipient(state="archived")])
    def test_an_endpoint_that_may_not_receive_any_more_stops_it(self, pool, recipient):
        receiver = Receiver()
        channel, _ = open_channel(pool, receiver)
        rows = claims(3)
        channel.feed(rows)

        channel.reconfigure(recipient)
        pool.run()

        assert receiver.got == []
        assert channel.close() == rows


def test_what_its_process_was_held_up_with_past_its_time_is_not_sent_any_more(pool):
    receiver, outbox = Receiver(), Outbox()
    channel = Channel(a_recipient(), receiver.attempt, outbox, pool, closes_at=time.monotonic())
    rows = claims(3)

    channel.feed(rows)
    pool.run()

    assert receiver.got == []
    assert channel.close() == rows


def test_an_attempt_that_breaks_costs_its_own_result_alone(pool, caplog):
    channel, outbox = open_channel(pool, Receiver(), max_concurrency=1)
    first, second = claims(2)
    attempt = channel._attempt

    def broken(claimed, recipient):
        if claimed is first:
            raise ZeroDivisionError
        return attempt(claimed, recipient)

    channel._attempt = broken
    channel.feed([first, second])
    pool.run()

    assert results(outbox) == [second.id]
    assert channel.is_idle
    assert f"delivery {first.id}" in caplog.text


class TestInParallel:
    @pytest.fixture
    def threads(self) -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(16) as pool:
            yield pool

    def test_never_more_at_once_than_the_endpoint_allows(self, threads):
        lock = threading.Lock()
        all_there = threading.Barrier(4)
        current, peak = 0, 0

        def attempt(claimed, recipient):
            nonlocal current, peak
            with lock:
                current += 1
                peak = max(peak, current)
            # Passes only when four are in flight together; a fifth would raise the peak.
            all_there.wait(WAIT_SECONDS)
            with lock:
                current -= 1
            return judged(claimed, OK)

        outbox = Outbox()
        channel = Channel(a_recipient(max_concurrency=4), attempt, outbox, threads)
        rows = claims(40)
        channel.feed(rows[:20])
        channel.feed(rows[20:])
        while not channel.is_idle:
            outbox.wait(WAIT_SECONDS)

        assert peak == 4
        assert sorted(results(outbox)) == [row.id for row in rows]
        assert channel.sent == 40

    def test_the_recorder_is_nudged_when_the_queue_is_low_and_when_all_is_done(self, threads):
        gate = threading.Event()

        def attempt(claimed, recipient):
            gate.wait(WAIT_SECONDS)
            return judged(claimed, OK)

        outbox = Outbox()
        channel = Channel(a_recipient(max_concurrency=1), attempt, outbox, threads)
        channel.low_water = 1
        channel.feed(claims(2))
        outbox.wait(WAIT_SECONDS)
        assert channel.waiting == 1

        gate.set()
        while not channel.is_idle:
            outbox.wait(WAIT_SECONDS)
        assert len(results(outbox)) == 2
