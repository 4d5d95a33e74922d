"""What goes on the wire."""

import pytest

from deliveries.outcomes import Failure
from tests.integration.transport.peers import answering


def test_the_body_arrives_byte_for_byte_with_its_exact_length(receive, post):
    receiver = receive(answering())
    body = '{"t":"😱 Привет in–network"}'.encode()

    exchange = post(receiver.url(), body)

    (request,) = receiver.requests
    assert (exchange.status_code, request.body) == (200, body)
    assert request.header("Content-Length") == [str(len(body))]
    assert request.header("Transfer-Encoding") == []


def test_an_empty_body_is_announced_as_such(receive, post):
    receiver = receive(answering())

    assert post(receiver.url(), b"").status_code == 200
    assert receiver.requests[0].header("Content-Length") == ["0"]


def test_the_request_line_carries_path_and_query_and_the_host_header_the_name(receive, make_transport, post):
    receiver = receive(answering())
    named = make_transport(resolver=lambda host, port, **_: [(0, 0, 0, "", ("127.0.0.1", port))])

    post(receiver.url("/a/b?sig=%2F&x=1", host="my_host.example"), through=named)

    (request,) = receiver.requests
    assert request.line == "POST /a/b?sig=%2F&x=1 HTTP/1.1"
    assert request.header("Host") == [f"my_host.example:{receiver.port}"]


def test_an_ipv6_literal_is_dialled_without_brackets_and_named_with_them(receive, post):
    receiver = receive(answering(), host="::1")

    exchange = post(receiver.url())

    assert (exchange.status_code, exchange.host, exchange.address) == (200, "::1", "::1")
    assert receiver.requests[0].header("Host") == [f"[::1]:{receiver.port}"]


def test_headers_are_sent_as_given_next_to_the_ones_of_the_transport(receive, make_transport, post):
    receiver = receive(answering())

    post(receiver.url(), through=make_transport(user_agent="Acme/2"), Authorization="Bearer t", webhook_id="evt_1")

    (request,) = receiver.requests
    assert request.header("Authorization") == ["Bearer t"]
    assert request.header("webhook-id") == ["evt_1"]
    assert request.header("User-Agent") == ["Acme/2"]
    assert request.header("Accept-Encoding") == ["identity"]


@pytest.mark.parametrize(("given", "sent"), [("Own/1", "Own/1"), ("", "Holdfast/1.0")])
def test_a_user_agent_may_be_replaced_but_never_emptied(receive, post, given, sent):
    receiver = receive(answering())

    post(receiver.url(), user_agent=given)

    assert receiver.requests[0].header("User-Agent") == [sent]


@pytest.mark.parametrize("value", ["legit\nX-Injected: 1", "legit\r\n X-Folded: 1", "nul\0", "tab\x0b", "Привет"])
def test_a_header_value_that_could_start_another_header_stops_the_request(receive, post, value):
    receiver = receive(answering())

    exchange = post(receiver.url(), x_object_name=value)

    assert exchange.failure is Failure.INTERNAL
    assert "X-Injected" not in exchange.error
    assert receiver.connections == 0


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer_Encoding", "Connection"])
def test_headers_that_frame_the_message_cannot_be_given(receive, post, name):
    receiver = receive(answering())

    assert post(receiver.url(), **{name: "x"}).failure is Failure.INTERNAL
    assert receiver.connections == 0


@pytest.mark.parametrize(
    "url", ["http://h.example:99999/", "ftp://h.example/", "http://a b/", "not a url", "http:///x"]
)
def test_an_invalid_url_is_a_recorded_failure_of_ours(post, url):
    assert post(url).failure is Failure.INTERNAL


def test_proxies_and_netrc_of_the_environment_are_ignored(receive, post, monkeypatch, tmp_path):
    receiver, proxy = receive(answering()), receive(answering())
    for variable in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, f"http://{proxy.authority}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login someone password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))

    assert post(receiver.url()).status_code == 200
    assert receiver.requests[0].header("Authorization") == []
    assert proxy.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_reported_and_never_followed(receive, post, status):
    elsewhere = receive(answering())
    receiver = receive(
        answering(f"HTTP/1.1 {status} Moved\r\nLocation: {elsewhere.url('/final')}\r\nContent-Length: 0\r\n\r\n")
    )

    exchange = post(receiver.url(), X_Api_Key="s3cr3t")

    assert (exchange.status_code, exchange.location) == (status, elsewhere.url("/final"))
    assert [request.line for request in receiver.requests] == ["POST /hook HTTP/1.1"]
    assert elsewhere.connections == 0
