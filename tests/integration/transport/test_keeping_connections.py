"""When a connection is used again, when not, and what a lost one means."""

import threading

import pytest

from deliveries.outcomes import Failure
from deliveries.transport.connections import GuardedConnection
from tests.integration.transport.peers import Peer, answering, closed_port, resolving

OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        "HTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["length", "204", "chunked", "500"],
)
def test_a_connection_whose_answer_was_read_to_its_end_is_used_again(receive, post, answer):
    receiver = receive(answering(answer))

    for _ in range(3):
        assert post(receiver.url()).failure is None

    assert (receiver.connections, len(receiver.requests)) == (1, 3)


@pytest.mark.parametrize(
    "answer",
    [
        "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nHey!",
        "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nHey!\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + "x" * 70000,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
    ],
    ids=["204-with-body", "204-with-chunks", "close", "http-1.0", "over-the-cap", "broken-chunks", "unknown-coding"],
)
def test_a_connection_that_may_hold_leftovers_is_not_used_again(receive, post, answer):
    receiver = receive(answering(answer))

    statuses = [post(receiver.url()).status_code for _ in range(2)]

    assert statuses[0] == statuses[1] == int(answer.split()[1])
    assert (receiver.connections, len(receiver.requests)) == (2, 2)


def test_bytes_that_follow_an_answer_do_not_become_the_next_answer(receive, post):
    answered, sent = threading.Event(), threading.Event()

    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(OK)
        answered.wait(5)
        peer.say("HTTP/1.1 500 Leftover\r\n\r\n")
        sent.set()
        peer.wait()

    receiver = receive(behaviour)
    post(receiver.url())
    answered.set()
    assert sent.wait(5)

    assert post(receiver.url()).status_code == 200
    assert receiver.connections == 2


def test_a_kept_connection_closed_by_the_receiver_is_replaced(receive, post):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(OK)
        peer.close()

    receiver = receive(behaviour)
    post(receiver.url())
    receiver.wait_until_closed()

    assert post(receiver.url()).status_code == 200
    assert len(receiver.requests) == 2


def test_a_kept_connection_that_takes_no_byte_is_replaced_since_nothing_was_sent(receive, post, monkeypatch):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(OK)
        peer.reset()

    receiver = receive(behaviour)
    post(receiver.url())
    receiver.wait_until_closed()
    # As if the reset came in between the look at the connection and the write.
    monkeypatch.setattr(GuardedConnection, "is_connected", True)

    assert post(receiver.url()).status_code == 200
    assert (receiver.connections, len(receiver.requests)) == (2, 2)


@pytest.mark.parametrize("hang_up", [Peer.close, Peer.reset])
def test_a_kept_connection_lost_after_the_request_went_out_is_unknown_and_nothing_is_repeated(receive, post, hang_up):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say(OK)
        peer.read()
        hang_up(peer)

    receiver = receive(behaviour)
    post(receiver.url())

    exchange = post(receiver.url(), b"committed by the receiver")

    assert exchange.failure is Failure.UNKNOWN
    assert (receiver.connections, len(receiver.requests)) == (1, 2)


@pytest.mark.parametrize("hang_up", [Peer.close, Peer.reset])
def test_a_new_connection_lost_after_the_request_went_out_is_unknown(receive, post, hang_up):
    def behaviour(peer: Peer) -> None:
        peer.read()
        hang_up(peer)

    receiver = receive(behaviour)

    assert post(receiver.url()).failure is Failure.UNKNOWN
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("kept", [False, True])
def test_a_connection_lost_while_the_request_goes_out_is_unknown_and_nothing_is_repeated(receive, post, kept):
    def behaviour(peer: Peer) -> None:
        if kept:
            peer.read()
            peer.say(OK)
        peer.sock.recv(1000)
        peer.reset()

    receiver = receive(behaviour)
    if kept:
        post(receiver.url())

    exchange = post(receiver.url(), bytes(20_000_000))

    assert exchange.failure is Failure.UNKNOWN
    assert receiver.connections == 1


def test_a_refused_connection_is_named_as_such(post):
    port = closed_port()

    exchange = post(f"http://127.0.0.1:{port}/hook")

    assert exchange.failure is Failure.CONNECTION
    assert exchange.error == f"connection refused by 127.0.0.1:{port} (127.0.0.1)"
    assert exchange.address == "127.0.0.1"


def test_the_next_address_is_tried_when_the_first_refuses(receive, make_transport, post):
    receiver = receive(answering())
    two = make_transport(resolver=resolving(["::1", "127.0.0.1"]))

    exchange = post(receiver.url(host="two.example"), through=two)

    assert (exchange.status_code, exchange.address) == (200, "127.0.0.1")


def test_names_that_do_not_resolve_are_dns_failures(make_transport, post):
    for resolver in (_raising(OSError(5, "secret detail")), _raising(UnicodeError("x")), resolving([])):
        exchange = post("http://gone.example/", through=make_transport(resolver=resolver))
        assert exchange.failure is Failure.DNS
        assert "gone.example" in exchange.error
        assert "secret" not in exchange.error


def test_connections_are_kept_apart_by_host(receive, make_transport, post):
    receiver = receive(answering())
    one_address = make_transport(resolver=resolving(["127.0.0.1"]))

    for host in ("a.example", "b.example", "a.example"):
        post(receiver.url(host=host), through=one_address)

    assert receiver.connections == 2


def test_many_threads_send_at_once_and_every_answer_finds_its_own_request(receive, post):
    def echo(peer: Peer) -> None:
        while request := peer.read():
            peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(request.body) + request.body)

    receivers = [receive(echo) for _ in range(4)]
    wrong: list[tuple[str, str]] = []

    def work(worker: int) -> None:
        for turn in range(6):
            body = f"{worker}/{turn}"
            answer = post(receivers[turn % 4].url(), body.encode(), timeout_seconds=20).snippet
            if answer != body:
                wrong.append((body, answer))

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert sum(len(receiver.requests) for receiver in receivers) == 64 * 6


def _raising(error):
    def resolver(*_, **__):
        raise error

    return resolver
