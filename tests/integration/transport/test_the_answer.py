"""What is taken from the receiver's answer."""

import gzip

import pytest

from deliveries.outcomes import Failure
from tests.integration.transport.peers import Peer, answering


def test_status_retry_after_host_and_address_are_reported(receive, post):
    receiver = receive(answering("HTTP/1.1 503 Busy\r\nretry-after: 120\r\nContent-Length: 4\r\n\r\nbusy"))

    exchange = post(receiver.url())

    assert (exchange.status_code, exchange.failure, exchange.error) == (503, None, "")
    assert (exchange.retry_after, exchange.location, exchange.snippet) == ("120", None, "busy")
    assert (exchange.host, exchange.address) == ("127.0.0.1", "127.0.0.1")


def test_the_first_bytes_are_kept_as_text_a_database_can_hold(receive, post):
    body = b"caf\xe9 \x00 \xe2\x82\xac " + b"x" * 5000
    receiver = receive(answering(b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n" % len(body) + body))

    snippet = post(receiver.url()).snippet

    assert snippet.startswith("caf\N{REPLACEMENT CHARACTER}  € xxx")
    assert 2000 < len(snippet) <= 2048


def test_a_compressed_answer_is_not_inflated(receive, post):
    bomb = gzip.compress(bytes(4_000_000))
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    receiver = receive(answering(head + bomb))

    exchange = post(receiver.url())

    assert exchange.status_code == 200
    assert len(exchange.snippet) <= 2048
    assert exchange.snippet.startswith("\x1f")


def test_informational_answers_are_passed_over(receive, post):
    receiver = receive(
        answering(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
        )
    )

    assert [post(receiver.url()).status_code for _ in range(2)] == [201, 201]
    assert receiver.connections == 1


def test_an_endless_body_is_cut_and_its_connection_closed(receive, post):
    def endless(peer: Peer) -> None:
        peer.read()
        peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not peer.receiver.stopping.is_set():
            peer.say(b"2000\r\n" + b"x" * 0x2000 + b"\r\n")

    receiver = receive(endless)

    exchange = post(receiver.url())

    assert (exchange.status_code, exchange.snippet) == (200, "x" * 2048)
    assert exchange.duration_ms < 2000
    assert post(receiver.url()).status_code == 200
    assert receiver.connections == 2


@pytest.mark.parametrize("hang_up", [Peer.reset, Peer.close])
def test_a_connection_lost_during_the_body_changes_nothing_about_the_status(receive, post, hang_up):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        hang_up(peer)

    receiver = receive(behaviour)

    exchange = post(receiver.url())

    assert (exchange.status_code, exchange.failure) == (200, None)


def test_an_answer_given_before_the_body_was_taken_counts(receive, post):
    def impatient(peer: Peer) -> None:
        peer._lines.readline()
        peer.say("HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        peer.sock.shutdown(1)
        while peer.sock.recv(65536):
            pass

    assert post(receive(impatient).url(), b"x" * 200_000).status_code == 413


@pytest.mark.parametrize(
    "nonsense",
    [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x15\x03\x01\x00\x02\x02\x16", b"HTTP/1.1 " + b"9" * 70000],
)
def test_an_answer_that_is_not_http_is_unknown_since_the_request_went_out(receive, post, nonsense):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(nonsense)

    exchange = post(receive(behaviour).url())

    assert exchange.failure is Failure.UNKNOWN
    assert "not HTTP" in exchange.error


@pytest.mark.parametrize("length", ["-1", "two", "9" * 5000, "2, 2", ""])
def test_a_length_that_makes_no_sense_does_not_hide_the_status(receive, post, length):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nok")

    exchange = post(receive(behaviour).url())

    assert (exchange.status_code, exchange.snippet) == (200, "ok")


def test_headers_without_end_do_not_hide_the_status(receive, post):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(b"HTTP/1.1 410 Gone\r\n" + b"X-Filler: y\r\n" * 500 + b"\r\n")

    assert post(receive(behaviour).url()).status_code == 410
