"""For many services the path or the query of the URL is the credential: it stays out of sentences and logs."""

import logging

import pytest

from tests.integration.transport.peers import Peer, answering, closed_port, resolving

SECRET = "T0-B1-S3CR3T"


def _silent(peer: Peer) -> None:
    peer.read()
    peer.wait()


def _reset(peer: Peer) -> None:
    peer.read()
    peer.reset()


@pytest.mark.parametrize(
    ("behaviour", "scheme"),
    [
        (answering(), "http"),
        (answering("HTTP/1.1 200 OK\r\nno colon here\r\n : odd\r\nContent-Length: 0\r\n\r\n"), "http"),
        (answering("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), "http"),
        (answering("nonsense\r\n"), "http"),
        (_silent, "http"),
        (_reset, "http"),
        (answering("plain\r\n"), "https"),
        (Peer.close, "https"),
    ],
    ids=["ok", "odd-headers", "redirect", "nonsense", "timeout", "reset", "no-tls", "closed"],
)
def test_whatever_the_receiver_does(receive, post, caplog, behaviour, scheme):
    caplog.set_level(logging.DEBUG)
    url = receive(behaviour).url(f"/services/{SECRET}?token={SECRET}").replace("http:", f"{scheme}:")

    exchange = post(url, timeout_seconds=0.3, Authorization=f"Bearer {SECRET}")

    assert SECRET not in repr(exchange)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        f"http://127.0.0.1:{closed_port()}/{SECRET}",
        f"http://10.0.0.1/{SECRET}",
        f"http://gone.example/{SECRET}",
        f"http://user:{SECRET}@h.example/",
        f"http://h.example:99999/{SECRET}",
        f"http://h.example/#{SECRET}",
        f"{SECRET}",
    ],
)
def test_whatever_stops_the_request(make_transport, post, caplog, url):
    caplog.set_level(logging.DEBUG)

    exchange = post(url, through=make_transport(resolver=resolving([])), timeout_seconds=0.3)

    assert exchange.failure is not None
    assert SECRET not in repr(exchange)
    assert SECRET not in caplog.text


def test_a_mistake_of_ours_says_where_and_not_what(make_transport, post, monkeypatch):
    transport = make_transport()

    def broken(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(transport._adapter, "send", broken)

    exchange = post("http://h.example/", through=transport)

    assert exchange.failure == "internal"
    assert "RuntimeError" in exchange.error
    assert SECRET not in exchange.error
