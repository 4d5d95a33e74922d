"""Certificates are always checked, against the name."""

from datetime import UTC, datetime

import pytest

from deliveries.outcomes import Failure
from tests.integration.transport.certificates import Authority
from tests.integration.transport.peers import Peer, answering, resolving

NAME = "hooks.example.com"


@pytest.fixture(scope="module")
def authority():
    return Authority()


@pytest.fixture
def named(make_transport):
    return make_transport(resolver=resolving(["127.0.0.1"]))


@pytest.fixture
def receive_tls(receive, authority, tmp_path):
    def start(*names, behaviour=None, **options):
        return receive(behaviour or answering(), tls=authority.server_context(tmp_path, *names, **options))

    return start


def test_an_endpoint_with_a_private_authority_is_reached_and_its_connection_kept(receive_tls, named, post, authority):
    receiver = receive_tls(NAME)

    for _ in range(3):
        exchange = post(receiver.url(host=NAME), b"x" * 100_000, through=named, ca_pem=authority.pem)
        assert (exchange.status_code, exchange.snippet, exchange.error) == (200, "ok", "")

    assert receiver.connections == 1
    assert {len(request.body) for request in receiver.requests} == {100_000}


def test_the_name_goes_into_the_handshake(receive_tls, named, post, authority):
    receiver, seen = receive_tls(NAME), []
    receiver.tls.sni_callback = lambda _sock, name, _context: seen.append(name)

    post(receiver.url(host=NAME), through=named, ca_pem=authority.pem)

    assert seen == [NAME]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_address_in_the_url_is_checked_against_the_addresses_in_the_certificate(
    receive, post, authority, tmp_path, host
):
    receiver = receive(answering(), host=host, tls=authority.server_context(tmp_path, host))

    assert post(receiver.url(), ca_pem=authority.pem).status_code == 200


@pytest.mark.parametrize(
    ("certificate_for", "options", "words"),
    [
        (NAME, {"expired": True}, "expired"),
        (NAME, {"self_signed": True}, "self-signed"),
        ("other.example.com", {}, "another host name"),
    ],
)
def test_the_sentence_names_the_check_that_failed(receive_tls, named, post, authority, certificate_for, options, words):
    receiver = receive_tls(certificate_for, **options)

    exchange = post(receiver.url(host=NAME), through=named, ca_pem=authority.pem)

    assert exchange.failure is Failure.TLS
    assert words in exchange.error
    assert receiver.requests == []


def test_an_address_is_not_covered_by_a_certificate_for_a_name(receive_tls, post, authority):
    exchange = post(receive_tls(NAME).url(), ca_pem=authority.pem)

    assert exchange.failure is Failure.TLS
    assert "another IP address" in exchange.error


def test_a_private_authority_is_not_trusted_by_others(receive_tls, named, post, authority):
    receiver = receive_tls(NAME)

    assert post(receiver.url(host=NAME), through=named, ca_pem=authority.pem).status_code == 200
    exchange = post(receiver.url(host=NAME), through=named)

    assert exchange.failure is Failure.TLS
    assert "issuer" in exchange.error
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("ca_pem", ["no PEM", "nö PEM"])
def test_a_certificate_that_cannot_be_read_is_a_failure_of_ours(receive_tls, named, post, ca_pem):
    receiver = receive_tls(NAME)

    exchange = post(receiver.url(host=NAME), through=named, ca_pem=ca_pem)

    assert exchange.failure is Failure.INTERNAL
    assert "not readable PEM" in exchange.error
    assert receiver.connections == 0


def test_a_receiver_that_speaks_no_tls_is_named_as_such(receive, post):
    def plain(peer: Peer) -> None:
        peer.sock.recv(1)
        peer.say("HTTP/1.1 400 Plain HTTP\r\n\r\n")
        peer.wait()

    exchange = post(receive(plain).url().replace("http:", "https:"))

    assert exchange.failure is Failure.TLS
    assert "wrong version number" in exchange.error or "packet length" in exchange.error


@pytest.mark.parametrize("hang_up", [Peer.close, Peer.reset])
def test_a_handshake_cut_short_sent_nothing(receive, post, hang_up):
    def behaviour(peer: Peer) -> None:
        peer.sock.recv(1)
        hang_up(peer)

    exchange = post(receive(behaviour).url().replace("http:", "https:"))

    assert exchange.failure in {Failure.TLS, Failure.CONNECTION}
    assert "handshake" in exchange.error


@pytest.mark.parametrize("hang_up", [Peer.close, Peer.reset])
def test_tls_lost_after_the_request_went_out_is_unknown(receive_tls, named, post, authority, hang_up):
    def behaviour(peer: Peer) -> None:
        peer.read()
        hang_up(peer)

    receiver = receive_tls(NAME, behaviour=behaviour)

    exchange = post(receiver.url(host=NAME), through=named, ca_pem=authority.pem)

    assert exchange.failure is Failure.UNKNOWN


def test_bytes_left_inside_the_tls_layer_do_not_become_the_next_answer(receive_tls, named, post, authority):
    # More than the reader takes at once, in one record: the rest waits decrypted, where no poll sees it.
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" + b"HTTP/1.1 500 Leftover\r\n\r\n" * 500
    receiver = receive_tls(NAME, behaviour=answering(answer))

    statuses = [post(receiver.url(host=NAME), through=named, ca_pem=authority.pem).status_code for _ in range(2)]

    assert statuses == [200, 200]
    assert receiver.connections == 2


def test_a_body_that_drips_over_tls_does_not_outlive_the_deadline(receive_tls, named, post, authority):
    def behaviour(peer: Peer) -> None:
        peer.read()
        peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n")
        peer.drip(b"x")

    receiver = receive_tls(NAME, behaviour=behaviour)

    exchange = post(receiver.url(host=NAME), through=named, ca_pem=authority.pem, timeout_seconds=0.5)

    assert exchange.status_code == 200
    assert 500 <= exchange.duration_ms < 2000


END = datetime(2027, 5, 6, 7, 8, 9, tzinfo=UTC)


def test_a_new_connection_tells_when_the_certificate_ends_and_a_kept_one_is_not_asked_again(
    receive_tls, named, post, authority
):
    receiver = receive_tls(NAME, end=END)

    ends = [post(receiver.url(host=NAME), through=named, ca_pem=authority.pem).certificate_ends_at for _ in range(3)]

    assert ends == [END, None, None]


def test_what_was_not_trusted_or_not_encrypted_tells_nothing_of_a_certificate(receive_tls, receive, named, post):
    assert post(receive_tls(NAME).url(host=NAME), through=named).certificate_ends_at is None
    assert post(receive(answering()).url()).certificate_ends_at is None
