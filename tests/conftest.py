"""What every test may use. The services behind it are chosen in `tests/settings.py`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from deliveries.redis_client import redis_client
from tests import factories


@pytest.fixture
def empty_redis() -> Iterator[None]:
    """Redis as after a flush: no bells, timers, leases or messages of another test."""
    redis_client().flushdb()
    yield
    redis_client().flushdb()


@pytest.fixture
def make_endpoint(db: None, empty_redis: None) -> Callable[..., Any]:
    return factories.make_endpoint


@pytest.fixture
def make_event(db: None, empty_redis: None) -> Callable[..., Any]:
    return factories.make_event


@pytest.fixture
def make_dead_letter(db: None, empty_redis: None) -> Callable[..., Any]:
    return factories.make_dead_letter
