"""A broker that cannot be reached, for tests of what happens then."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import override_settings

from deliveries.redis_client import redis_client
from inbox.redis_client import redis_client as inbox_redis_client

CLOSED_PORT = "redis://127.0.0.1:1/0"


@contextmanager
def away(url: str = CLOSED_PORT) -> Iterator[None]:
    """Nothing this process says reaches Redis: nobody listens where it looks."""
    with override_settings(REDIS_URL=url):
        _forget_clients()
        yield
    _forget_clients()


@pytest.fixture
def broker_away() -> Iterator[None]:
    with away():
        yield


@pytest.fixture
def hung_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A Redis that takes connections and answers nothing; the socket it listens on."""
    for app in ("deliveries", "inbox"):
        monkeypatch.setattr(f"{app}.redis_client.ANSWER_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        with away(f"redis://127.0.0.1:{listening.getsockname()[1]}/0"):
            yield listening


def _forget_clients() -> None:
    # The client is made once a process; the next use reads the settings again.
    for client in (redis_client, inbox_redis_client):
        client.cache_clear()
