"""What every test may use. The services behind it are chosen in `tests/settings.py`."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import AppConfig
from django.db import reset_queries
from django.db.models.signals import post_migrate

from deliveries import dispatch
from deliveries.redis_client import redis_client
from endpoints.policies import SHIPPED
from inbox import dispatch as inbox_dispatch
from tests import factories


def _restore_shipped_policies(sender: AppConfig, **_kwargs: Any) -> None:
    """A test with real transactions ends with every table emptied, also of the rows that a migration brought."""
    if sender.label == "endpoints":
        for policy in SHIPPED:
            factories.ensure_policy(policy)


post_migrate.connect(_restore_shipped_policies)


@pytest.fixture(autouse=True)
def brokers_are_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that did not answer in another test is asked again at once in this one."""
    for voice in (dispatch, inbox_dispatch):
        monkeypatch.setattr(voice._Quiet, "until", 0.0)


@pytest.fixture(autouse=True)
def query_log_has_room() -> None:
    """Django keeps 9,000 statements of those that were counted; in a full log a test would count too few."""
    reset_queries()


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
