"""Sockets that wait no longer than their call has left."""

import socket

import pytest

from deliveries.transport import deadline
from deliveries.transport.deadline import Call, TimedSocket


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(deadline, "time", clock)
    return clock


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    timed = TimedSocket(fileno=ours.detach())
    yield timed, theirs
    timed.close()
    theirs.close()


def _receive(timed, theirs):
    theirs.sendall(b"x")
    timed.recv_into(bytearray(1))


def test_each_wait_is_bounded_by_what_is_left_and_not_by_the_whole(clock, ends):
    timed, theirs = ends
    timed.call = Call(timeout_seconds=10, deadline=clock.now + 10)

    _receive(timed, theirs)
    assert timed.gettimeout() == pytest.approx(10)
    clock.now += 7
    _receive(timed, theirs)
    assert timed.gettimeout() == pytest.approx(3)


def test_nothing_is_read_or_written_after_the_deadline(clock, ends):
    timed, theirs = ends
    timed.call = Call(timeout_seconds=10, deadline=clock.now + 10)
    clock.now += 10

    with pytest.raises(TimeoutError):
        _receive(timed, theirs)
    with pytest.raises(TimeoutError):
        timed.sendall(b"x")
    assert not timed.call.wrote


def test_the_next_call_on_a_socket_brings_its_own_deadline(clock, ends):
    timed, theirs = ends
    for seconds in (10, 2):
        timed.call = Call(timeout_seconds=seconds, deadline=clock.now + seconds)
        _receive(timed, theirs)
        assert timed.gettimeout() == pytest.approx(seconds)


def test_a_call_knows_whether_anything_was_written(clock, ends):
    timed, _ = ends
    timed.call = call = Call(timeout_seconds=10, deadline=clock.now + 10)
    assert not call.wrote

    timed.sendall(b"x")

    assert call.wrote
