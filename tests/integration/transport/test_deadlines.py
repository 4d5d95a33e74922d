"""One deadline holds for everything, however the receiver stretches it."""

import socket
import threading
import time

import pytest

from deliveries.outcomes import Failure
from tests.integration.transport.peers import Peer, answering, resolving

DEADLINE_SECONDS = 0.4
# What a busy machine may add; far below what each of these receivers would take without a deadline.
SLACK_SECONDS = 3.0


@pytest.fixture
def post_in_time(post):
    def send(url, **options):
        started = time.monotonic()
        exchange = post(url, timeout_seconds=DEADLINE_SECONDS, **options)
        assert time.monotonic() - started < DEADLINE_SECONDS + SLACK_SECONDS
        return exchange

    return send


def test_a_receiver_that_says_nothing_times_out(receive, post_in_time):
    def silent(peer: Peer) -> None:
        peer.read()
        peer.wait()

    exchange = post_in_time(receive(silent).url())

    assert exchange.failure is Failure.TIMEOUT
    assert exchange.error == "no answer from 127.0.0.1 within 0.4 s"
    assert exchange.duration_ms >= DEADLINE_SECONDS * 1000


def test_a_status_line_that_drips_times_out(receive, post_in_time):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.drip(b"HTTP/1.1 200 " + b"O" * 10_000)

    assert post_in_time(receive(behaviour).url()).failure is Failure.TIMEOUT


@pytest.mark.parametrize(
    ("known", "dripping"),
    [
        (b"HTTP/1.1 202 Accepted\r\n", b"X-Slow: 1\r\n"),
        (b"HTTP/1.1 202 Accepted\r\nContent-Length: 9999\r\n\r\n", b"x"),
        (b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (b"HTTP/1.1 202 Accepted\r\n\r\n", b"x"),
    ],
    ids=["headers", "body", "chunks", "body-until-close"],
)
def test_a_status_known_in_time_counts_whatever_drips_after_it(receive, post_in_time, known, dripping):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(known)
        peer.drip(dripping)

    exchange = post_in_time(receive(behaviour).url())

    assert (exchange.status_code, exchange.failure) == (202, None)


def test_what_dripped_in_before_the_deadline_is_kept(receive, post_in_time):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(b"HTTP/1.1 500 Oops\r\nContent-Length: 9999\r\n\r\nwhat went wrong")
        peer.wait()

    assert post_in_time(receive(behaviour).url()).snippet == "what went wrong"


def test_a_receiver_that_does_not_read_times_out(receive, post_in_time):
    exchange = post_in_time(receive(Peer.wait).url(), body=bytes(20_000_000))

    assert exchange.failure is Failure.TIMEOUT
    assert "did not take the request" in exchange.error


def test_a_tls_handshake_that_never_ends_times_out(receive, post_in_time):
    receiver = receive(Peer.wait)

    exchange = post_in_time(receiver.url().replace("http:", "https:"))

    assert exchange.failure is Failure.TIMEOUT
    assert "TLS handshake" in exchange.error


def test_a_name_lookup_that_hangs_times_out_and_is_shared(make_transport, post_in_time):
    answer, lookups = threading.Event(), []

    def hanging(host, port, **_):
        lookups.append(host)
        answer.wait(10)
        return []

    slow = make_transport(resolver=hanging)
    try:
        exchanges = [post_in_time("http://slow.example/", through=slow) for _ in range(2)]
    finally:
        answer.set()

    assert [exchange.failure for exchange in exchanges] == [Failure.TIMEOUT, Failure.TIMEOUT]
    assert "looking up slow.example" in exchanges[0].error
    assert lookups == ["slow.example"]


def test_a_silent_first_address_leaves_time_for_the_second(receive, make_transport, post):
    receiver = receive(answering())
    # A listener whose queue is full drops connection attempts: the address is silent.
    with socket.create_server(("127.0.0.2", receiver.port), backlog=0) as full:
        fillers = [socket.socket() for _ in range(2)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        two = make_transport(resolver=resolving(["127.0.0.2", "127.0.0.1"]))
        exchange = post(receiver.url(host="two.example"), through=two, timeout_seconds=2.0)
        for filler in fillers:
            filler.close()

    assert (exchange.status_code, exchange.address) == (200, "127.0.0.1")


def test_a_deadline_in_the_past_sends_nothing(receive, post):
    receiver = receive(answering())

    assert post(receiver.url(), timeout_seconds=0.0).failure is Failure.TIMEOUT
    assert receiver.requests == []
