"""Results wait for company, but not long; and for the database, as long as their leases may hold."""

import threading
import time

import pytest
from django.db import InterfaceError, OperationalError

from deliveries.drain import outbox as module
from deliveries.drain.outbox import RECORD_SECONDS, ROWS_PER_STATEMENT, Outbox
from deliveries.transitions.settle import Settled
from tests.unit.deliveries.claims import a_claim, a_result

PATIENCE = 15.0


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Database:
    """Takes the place of `settle`: remembers what it was given, or refuses."""

    def __init__(self) -> None:
        self.batches: list[list] = []
        self.refusal: Exception | None = None

    def settle(self, results) -> Settled:
        if self.refusal:
            raise self.refusal
        self.batches.append(list(results))
        return Settled({result.claimed.id for result in results}, [])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outbox(clock) -> Outbox:
    return Outbox(clock)


@pytest.fixture
def database(monkeypatch) -> Database:
    made = Database()
    monkeypatch.setattr(module, "settle", made.settle)
    return made


def wakes(outbox: Outbox, within: float = 10.0) -> bool:
    """Whether waiting ends before the time is over."""
    began = time.monotonic()
    outbox.wait(within)
    return time.monotonic() - began < within


def test_nothing_is_ripe_and_recording_nothing_is_no_statement(outbox, database):
    assert not outbox.is_ripe
    assert outbox.record(PATIENCE) == Settled(set(), [])
    assert database.batches == []


def test_a_result_waits_a_moment_for_company(outbox, clock):
    outbox.put(a_result())
    assert not outbox.is_ripe

    clock.seconds += RECORD_SECONDS
    outbox.put(a_result())

    assert outbox.is_ripe


def test_a_moment_is_well_below_a_second():
    assert RECORD_SECONDS < 1


def test_a_whole_statement_does_not_wait_and_wakes_the_recorder(outbox, database):
    for _ in range(ROWS_PER_STATEMENT):
        outbox.put(a_result())

    assert wakes(outbox)
    assert outbox.is_ripe


def test_a_nudge_wakes_the_recorder(outbox):
    assert not wakes(outbox, within=0.01)

    outbox.nudge()

    assert wakes(outbox)


def test_results_are_recorded_once_oldest_first_a_statement_at_a_time(outbox, database):
    results = [a_result() for _ in range(ROWS_PER_STATEMENT + 1)]
    for result in results:
        outbox.put(result)

    outbox.record(PATIENCE)
    outbox.record(PATIENCE)
    outbox.record(PATIENCE)

    assert database.batches == [results[:-1], results[-1:]]
    assert outbox.is_empty


def test_it_knows_whose_results_it_holds(outbox, database):
    outbox.put(a_result(a_claim(endpoint_id=7)))

    assert (outbox.holds(7), outbox.holds(8)) == (True, False)
    outbox.record(PATIENCE)
    assert not outbox.holds(7)


@pytest.mark.parametrize("refusal", [OperationalError("no space left"), InterfaceError("connection already closed")])
def test_while_the_database_refuses_results_are_kept_and_recorded_when_it_is_back(outbox, database, clock, refusal):
    result = a_result()
    outbox.put(result)
    database.refusal = refusal
    for _ in range(5):
        assert outbox.record(PATIENCE) == Settled(set(), [])
        clock.seconds += 2
    assert outbox.is_failing
    assert outbox.is_ripe

    database.refusal = None
    outbox.record(PATIENCE)

    assert database.batches == [[result]]
    assert not outbox.is_failing


def test_what_comes_in_meanwhile_is_kept_as_well(outbox, database):
    first, second = a_result(), a_result()
    outbox.put(first)
    database.refusal = OperationalError()
    outbox.record(PATIENCE)
    outbox.put(second)

    database.refusal = None
    outbox.record(PATIENCE)

    assert database.batches == [[first, second]]


def test_patience_ends_and_the_leases_lapse(outbox, database, clock, caplog):
    outbox.put(a_result())
    database.refusal = OperationalError()
    outbox.record(PATIENCE)
    clock.seconds += PATIENCE

    outbox.record(PATIENCE)

    assert outbox.is_empty
    assert not outbox.is_failing
    assert "given up" in caplog.text


def test_a_success_renews_the_patience(outbox, database, clock):
    outbox.put(a_result())
    database.refusal = OperationalError()
    outbox.record(PATIENCE)
    database.refusal = None
    outbox.record(PATIENCE)
    clock.seconds += PATIENCE

    outbox.put(a_result())
    database.refusal = OperationalError()
    outbox.record(PATIENCE)

    assert not outbox.is_empty


def test_a_fault_of_ours_is_not_taken_for_the_databases(outbox, database):
    outbox.put(a_result())
    database.refusal = KeyError("a bug")

    with pytest.raises(KeyError):
        outbox.record(PATIENCE)


def test_results_that_lost_their_lease_are_told_in_the_log(outbox, monkeypatch, caplog):
    monkeypatch.setattr(module, "settle", lambda _results: Settled(set(), []))
    outbox.put(a_result())

    outbox.record(PATIENCE)

    assert "1 results came after their lease" in caplog.text


def test_one_that_comes_in_while_others_are_recorded_is_not_forgotten(outbox, clock, monkeypatch):
    late = a_result()

    def settle(results) -> Settled:
        outbox.put(late)
        return Settled({result.claimed.id for result in results}, [])

    monkeypatch.setattr(module, "settle", settle)
    outbox.put(a_result())
    outbox.record(PATIENCE)

    assert outbox.holds(late.claimed.endpoint_id)
    clock.seconds += RECORD_SECONDS
    assert outbox.is_ripe


def test_one_that_comes_in_at_the_last_moment_gets_its_time(outbox, clock, database):
    class Interrupted(list):
        """A list that another thread adds to right after its length was read."""

        is_armed = False

        def __len__(self) -> int:
            length = super().__len__()
            if self.is_armed and not length:
                self.is_armed = False
                outbox.put(a_result())
            return length

    outbox._results = Interrupted([a_result()])
    outbox._oldest_at = clock()
    outbox._results.is_armed = True
    outbox.record(PATIENCE)

    assert not outbox.is_empty
    clock.seconds += RECORD_SECONDS
    assert outbox.is_ripe


def test_nothing_is_lost_between_many_threads_and_the_recorder(outbox, database):
    threads = [threading.Thread(target=lambda: [outbox.put(a_result()) for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        outbox.record(PATIENCE)
    while not outbox.is_empty:
        outbox.record(PATIENCE)

    recorded = [result.claimed.id for batch in database.batches for result in batch]
    assert len(recorded) == len(set(recorded)) == 4000
