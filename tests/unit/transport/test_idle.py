"""Connections that wait for their next request."""

import pytest

from deliveries.transport.idle import IdleConnections


class Connection:
    def __init__(self):
        self.is_connected = True
        self.closed = False

    def close(self):
        self.closed = True


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def idle(clock):
    return IdleConnections(max_idle_seconds=4, max_connections=3, clock=clock)


def test_the_connection_that_waited_least_is_taken_first(idle):
    older, newer = Connection(), Connection()
    idle.put("a", older)
    idle.put("a", newer)

    assert [idle.take("a"), idle.take("a"), idle.take("a")] == [newer, older, None]


def test_targets_do_not_share_connections(idle):
    idle.put("a", Connection())

    assert idle.take("b") is None


def test_a_connection_that_waited_too_long_is_closed_and_not_given(idle, clock):
    connection = Connection()
    idle.put("a", connection)
    clock.now += 4.1

    assert idle.take("a") is None
    assert connection.closed


def test_a_connection_is_good_up_to_the_limit(idle, clock):
    connection = Connection()
    idle.put("a", connection)
    clock.now += 4

    assert idle.take("a") is connection


def test_a_broken_connection_is_closed_and_the_next_one_given(idle):
    good, broken = Connection(), Connection()
    idle.put("a", good)
    idle.put("a", broken)
    broken.is_connected = False

    assert idle.take("a") is good
    assert broken.closed


def test_connections_to_targets_never_called_again_are_closed_when_others_come_in(idle, clock):
    forgotten = Connection()
    idle.put("a", forgotten)
    clock.now += 5
    idle.put("b", Connection())

    assert forgotten.closed
    assert len(idle) == 1


def test_the_oldest_is_closed_when_there_are_too_many(idle):
    connections = [Connection() for _ in range(4)]
    for number, connection in enumerate(connections):
        idle.put(number % 2, connection)

    assert [connection.closed for connection in connections] == [True, False, False, False]
    assert idle.take(0) is connections[2]
    assert idle.take(0) is None


def test_closing_closes_all(idle):
    connections = [Connection(), Connection()]
    for connection in connections:
        idle.put("a", connection)
    idle.close()

    assert all(connection.closed for connection in connections)
    assert idle.take("a") is None
