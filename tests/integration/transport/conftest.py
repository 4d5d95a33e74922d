from ipaddress import ip_network

import pytest

from deliveries.transport import HttpTransport, Request
from tests.integration.transport.peers import Receiver

THIS_MACHINE = (ip_network("127.0.0.0/8"), ip_network("::1/128"))


@pytest.fixture
def receive():
    """Start a receiver with a behaviour; it is stopped with the test."""
    receivers = []

    def start(behaviour, **options):
        receivers.append(Receiver(behaviour, **options))
        return receivers[-1]

    yield start
    for receiver in receivers:
        receiver.stop()


@pytest.fixture
def make_transport():
    """Make a transport that may call this machine; its connections are closed with the test."""
    transports = []

    def make(allowed_networks=THIS_MACHINE, **options):
        transports.append(HttpTransport(allowed_networks, **options))
        return transports[-1]

    yield make
    for transport in transports:
        transport.close()


@pytest.fixture
def transport(make_transport):
    return make_transport()


@pytest.fixture
def post(transport):
    """Send a small request."""

    def send(url, body=b"{}", *, through=None, timeout_seconds=3.0, ca_pem="", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (through or transport).send(Request(url, named, body, timeout_seconds, ca_pem))

    return send
