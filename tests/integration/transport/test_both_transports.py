"""What holds for every transport: a test that scripts answers must see what production would."""

from dataclasses import replace

import pytest

from deliveries.outcomes import Exchange, Failure
from deliveries.transport import HttpTransport, MemoryTransport, Request, Transport
from tests.integration.transport.conftest import THIS_MACHINE
from tests.integration.transport.peers import Peer, Receiver, closed_port

STATUSES = [200, 204, 301, 400, 401, 410, 429, 500, 503]


class OverTheNetwork:
    """Real sockets."""

    def __init__(self) -> None:
        self.transport: Transport = HttpTransport(THIS_MACHINE)
        self.receivers: list[Receiver] = []

    def answering(self, *statuses: int, location: str = "", retry_after: str = "") -> str:
        left = list(statuses)

        def behaviour(peer: Peer) -> None:
            while peer.read():
                status = left.pop(0) if len(left) > 1 else left[0]
                peer.say(f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n")
                peer.say(f"Location: {location}\r\n" if location else "")
                peer.say((f"Retry-After: {retry_after}\r\n" if retry_after else "") + "\r\n")

        self.receivers.append(Receiver(behaviour))
        return self.receivers[-1].url()

    def failing(self, failure: Failure) -> str:
        if failure is Failure.CONNECTION:
            return f"http://127.0.0.1:{closed_port()}/hook"
        if failure is Failure.BLOCKED:
            return "http://10.0.0.1/hook"
        self.receivers.append(Receiver(Peer.read if failure is Failure.UNKNOWN else Peer.wait))
        return self.receivers[-1].url()

    def received(self) -> list[tuple[bytes, str]]:
        return [
            (request.body, request.header("webhook-id")[0])
            for receiver in self.receivers
            for request in receiver.requests
        ]

    def close(self) -> None:
        self.transport.close()
        for receiver in self.receivers:
            receiver.stop()


class InMemory:
    """A script."""

    def __init__(self) -> None:
        self.transport: MemoryTransport = MemoryTransport()

    def answering(self, *statuses: int, location: str = "", retry_after: str = "") -> str:
        answer = Exchange(location=location or None, retry_after=retry_after or None)
        self.transport.script("http://127.0.0.1/hook", *(replace(answer, status_code=status) for status in statuses))
        return "http://127.0.0.1/hook"

    def failing(self, failure: Failure) -> str:
        self.transport.script("http://127.0.0.1/hook", failure)
        return "http://127.0.0.1/hook"

    def received(self) -> list[tuple[bytes, str]]:
        return [(request.body, request.headers["webhook-id"]) for request in self.transport.requests]

    def close(self) -> None:
        self.transport.close()


@pytest.fixture(params=[OverTheNetwork, InMemory])
def world(request):
    world = request.param()
    yield world
    world.close()


def _request(url: str, body: bytes = b"{}", **headers: str) -> Request:
    return Request(url, {"webhook-id": "evt_1", **headers}, body, timeout_seconds=0.5)


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_reported_without_a_verdict(world, status):
    exchange = world.transport.send(_request(world.answering(status)))

    assert (exchange.status_code, exchange.failure, exchange.error) == (status, None, "")
    assert exchange.host == "127.0.0.1"


def test_answers_follow_each_other(world):
    url = world.answering(503, 503, 200)

    assert [world.transport.send(_request(url)).status_code for _ in range(4)] == [503, 503, 200, 200]


def test_a_redirect_is_reported_and_not_followed(world):
    exchange = world.transport.send(_request(world.answering(302, location="http://127.0.0.1:9/")))

    assert (exchange.status_code, exchange.location) == (302, "http://127.0.0.1:9/")
    assert len(world.received()) == 1


def test_retry_after_is_handed_on_as_it_came(world):
    assert world.transport.send(_request(world.answering(429, retry_after="1.5"))).retry_after == "1.5"


@pytest.mark.parametrize("failure", [Failure.CONNECTION, Failure.UNKNOWN, Failure.TIMEOUT, Failure.BLOCKED])
def test_a_failure_has_a_sentence_and_no_status(world, failure):
    exchange = world.transport.send(_request(world.failing(failure)))

    assert (exchange.status_code, exchange.failure, exchange.snippet) == (None, failure, "")
    assert exchange.error
    assert "/hook" not in exchange.error


def test_the_receiver_gets_the_bytes_and_headers_given(world):
    world.transport.send(_request(world.answering(200), "é".encode()))

    assert world.received() == [("é".encode(), "evt_1")]


@pytest.mark.parametrize("headers", [{"X-A": "b\r\nX-C: d"}, {"Content-Length": "1"}, {"bad name": "x"}])
def test_a_request_that_would_break_on_the_wire_is_refused(world, headers):
    exchange = world.transport.send(_request(world.answering(200), **headers))

    assert exchange.failure is Failure.INTERNAL
    assert world.received() == []


def test_a_url_that_cannot_be_used_is_refused(world):
    assert world.transport.send(_request("http://user:pw@h.example/")).failure is Failure.INTERNAL
