"""Drains that take long go on beside the worker's threads, as many as there are places, and set their own timers."""

import threading

import pytest

from deliveries import deliver as verb
from deliveries import dispatch
from deliveries.drain import beside


class LongDrain:
    """Runs until it is let go, whatever time it is given."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.is_finished = False

    def run(self, *, for_seconds: float | None = None) -> dict[int, float]:
        if for_seconds is not None:
            return {}
        self.may_end.wait(10)
        self.is_finished = True
        return {7: 3.0}


@pytest.fixture
def sent(monkeypatch):
    """The timers that were sent without a task, and a sign that one was."""
    sent: list[dict[int, float]] = []
    told = threading.Event()

    def notice(waits: dict[int, float]) -> None:
        sent.append(waits)
        told.set()

    monkeypatch.setattr(dispatch, "send_timers", notice)
    return sent, told


@pytest.fixture
def two_places(settings):
    settings.HOLDFAST = {**settings.HOLDFAST, "LONG_DRAINS": 2}
    beside._places.cache_clear()
    beside._threads.cache_clear()
    yield
    beside._threads().shutdown()
    beside._places.cache_clear()
    beside._threads.cache_clear()


def test_a_long_drain_frees_its_thread_and_sets_its_timers_itself(sent, two_places, monkeypatch):
    timers, told = sent
    drain = LongDrain()
    monkeypatch.setattr(verb, "_drain", lambda _ids, _transport: drain)

    assert verb.deliver_in_turn([7]) == {}
    assert (drain.is_finished, timers) == (False, [])

    drain.may_end.set()
    assert told.wait(10)
    assert (drain.is_finished, timers) == (True, [{7: 3.0}])


def test_where_every_place_is_taken_the_thread_finishes_what_it_began(sent, two_places, monkeypatch):
    drains = [LongDrain() for _ in range(3)]
    waiting = iter(drains)
    monkeypatch.setattr(verb, "_drain", lambda _ids, _transport: next(waiting))
    drains[2].may_end.set()

    assert [verb.deliver_in_turn([7]) for _ in drains] == [{}, {}, {7: 3.0}]

    for drain in drains:
        drain.may_end.set()


def test_a_place_is_free_again_after_a_drain_that_broke(sent, two_places, caplog):
    class BrokenDrain(LongDrain):
        def run(self, *, for_seconds: float | None = None) -> dict[int, float]:
            raise ZeroDivisionError

    for _ in range(2):
        assert beside.take_over(BrokenDrain())  # type: ignore[arg-type]
    beside._threads().shutdown()

    assert beside._places().acquire(timeout=5)
    assert beside._places().acquire(timeout=5)
    assert caplog.text.count("a drain ended early") == 2
