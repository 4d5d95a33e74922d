"""A broker that cannot be reached, for tests of what happens then."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.test import override_settings

from deliveries.redis_client import redis_client

CLOSED_PORT = "redis://127.0.0.1:1/0"


@contextmanager
def away() -> Iterator[None]:
    """Nothing this process says reaches Redis: nobody listens where it looks."""
    with override_settings(REDIS_URL=CLOSED_PORT):
        _forget_clients()
        yield
    _forget_clients()


@pytest.fixture
def broker_away() -> Iterator[None]:
    with away():
        yield


def _forget_clients() -> None:
    # The client is made once a process; the next use reads the settings again.
    redis_client.cache_clear()
