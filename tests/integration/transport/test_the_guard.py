"""No request reaches an address that was not judged."""

from ipaddress import ip_network

import pytest

from deliveries.outcomes import Failure
from deliveries.transport import connections
from tests.integration.transport.peers import answering, resolving

LOOPBACK_V4 = [ip_network("127.0.0.0/8")]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "https://127.0.0.1:{port}/"],
)
def test_a_literal_address_of_this_machine_is_refused_before_anything_is_sent(receive, make_transport, post, url):
    receiver = receive(answering())

    exchange = post(url.format(port=receiver.port), through=make_transport(allowed_networks=()))

    assert exchange.failure is Failure.BLOCKED
    assert (exchange.status_code, exchange.snippet, exchange.address) == (None, "", "")
    assert receiver.connections == 0


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1", "169.254.169.254"],
        ["127.0.0.1", "::1"],
        ["10.0.0.5"],
        ["127.0.0.1", "::ffff:10.0.0.5"],
        ["127.0.0.1", "fe80::1%lo"],
        ["127.0.0.1", "no address at all"],
    ],
)
def test_one_bad_address_in_the_answer_refuses_the_name(receive, make_transport, post, answers):
    receiver = receive(answering())
    guarded = make_transport(allowed_networks=LOOPBACK_V4, resolver=resolving(answers))

    exchange = post(receiver.url(host="mixed.example"), through=guarded)

    assert exchange.failure is Failure.BLOCKED
    assert exchange.host == "mixed.example"
    assert receiver.connections == 0


def test_a_name_is_looked_up_once_for_a_connection_so_it_cannot_rebind(receive, make_transport, post):
    receiver = receive(answering())
    rebinding = make_transport(allowed_networks=LOOPBACK_V4, resolver=resolving(["127.0.0.1"], ["169.254.169.254"]))

    assert post(receiver.url(host="rebind.example"), through=rebinding).address == "127.0.0.1"


def test_every_new_connection_is_judged_anew(receive, make_transport, post):
    receiver = receive(answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
    rebinding = make_transport(allowed_networks=LOOPBACK_V4, resolver=resolving(["127.0.0.1"], ["169.254.169.254"]))

    exchanges = [post(receiver.url(host="rebind.example"), through=rebinding) for _ in range(2)]

    assert [exchange.failure for exchange in exchanges] == [None, Failure.BLOCKED]
    assert "169.254.169.254" in exchanges[1].error


def test_an_old_connection_is_given_up_so_that_the_name_is_judged_again(receive, make_transport, post, monkeypatch):
    receiver = receive(answering())
    rebinding = make_transport(allowed_networks=LOOPBACK_V4, resolver=resolving(["127.0.0.1"], ["169.254.169.254"]))
    assert post(receiver.url(host="rebind.example"), through=rebinding).status_code == 200

    monkeypatch.setattr(connections, "MAX_AGE_SECONDS", -1)

    assert post(receiver.url(host="rebind.example"), through=rebinding).failure is Failure.BLOCKED


def test_a_kept_connection_still_goes_where_it_was_judged_to_go(receive, make_transport, post):
    receiver = receive(answering())
    rebinding = make_transport(allowed_networks=LOOPBACK_V4, resolver=resolving(["127.0.0.1"], ["169.254.169.254"]))

    exchanges = [post(receiver.url(host="rebind.example"), through=rebinding) for _ in range(2)]

    assert [exchange.address for exchange in exchanges] == ["127.0.0.1", "127.0.0.1"]
    assert receiver.connections == 1
