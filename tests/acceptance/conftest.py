"""The whole pipeline, running: real workers and beat over the test database, and a receiver that does as it is told.

Processes are started once, by the first test that needs them, and stopped when the tests of this folder are through:
what they find in the database they work on, so no other test may run beside them. Tests stay apart by their tenant.
"""

import itertools
import json
import os
import time
from collections.abc import Callable, Generator, Iterator

import pytest
import requests
from django.db import connection
from pytest_django import DjangoDbBlocker

from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint, RetryPolicy, State
from endpoints.signing import new_secret, sign
from inbox.models import Source
from tests.acceptance.clearing import clear, end_other_sessions
from tests.acceptance.processes import RECEIVING, Stack
from tests.bookshop.inbox_handlers import SOURCE
from webhooks_project import roles

_numbers = itertools.count(1)
_running: list[tuple[Stack, DjangoDbBlocker]] = []


@pytest.fixture
def transactional_db(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """What a test writes is committed; its endpoints are paused afterwards, so that they cost the next test nothing.

    Takes the place of pytest-django's fixture of this name, which would empty the tables under the running workers.
    """
    with django_db_blocker.unblock():
        yield
        Endpoint.objects.filter(state=State.ACTIVE).update(state=State.PAUSED)
        connection.close()


@pytest.fixture
def stack(
    transactional_db: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Stack:
    """Both workers and beat, running."""
    if not _running:
        clear()
        _running.append((Stack(tmp_path_factory.mktemp("stack")), django_db_blocker))
    _running[0][0].start()
    return _running[0][0]


@pytest.fixture
def door(stack: Stack) -> str:
    """The address of a web process that runs as in production, with a worker for what it lets in."""
    stack.start(*RECEIVING)
    return f"http://127.0.0.1:{stack.port}"


@pytest.fixture
def post(door: str) -> Callable[..., int]:
    """`post("order.paid", "evt_1")` signs, posts and gives the status."""
    source, is_new = Source.objects.get_or_create(
        slug=SOURCE, defaults={"scheme": "standard-webhooks", "concurrency": roles.WORKER_THREADS}
    )
    # One for all: the door takes a second to notice another.
    secret = source.secrets.create(secret=new_secret()).secret if is_new else source.secrets.get().secret

    def send(type: str, id: str, *, body: bytes | Iterator[bytes] | None = None, path: str = SOURCE) -> int:
        content = json.dumps({"type": type, "data": {"id": id}}).encode()
        now = int(time.time())
        headers = {
            "webhook-id": id,
            "webhook-timestamp": str(now),
            "webhook-signature": sign([secret], id, now, content),
            "content-type": "application/json",
        }
        answer = requests.post(
            f"{door}/inbox/{path}",
            data=content if body is None else body,
            headers=headers,
            timeout=10,
            allow_redirects=False,
        )
        return answer.status_code

    return send


@pytest.fixture(scope="session")
def receiver() -> Iterator[ReceiverProcess]:
    with ReceiverProcess() as process:
        yield process


@pytest.fixture
def name() -> str:
    """A word no other test uses: tenant, and the name of what the receiver serves."""
    return f"test-{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def quick(transactional_db: None) -> RetryPolicy:
    """Retries within a second or so."""
    values = {"kind": "exponential", "base_seconds": 1, "cap_seconds": 1, "max_attempts": 10}
    return RetryPolicy.objects.get_or_create(name="quick", defaults=values)[0]


@pytest.fixture
def subscribe(stack: Stack, receiver: ReceiverProcess, name: str, quick: RetryPolicy) -> Callable[..., Endpoint]:
    """Make an endpoint of the test's tenant at the receiver: `subscribe("status/422", timeout_seconds=1)`.

    Its URL is the receiver's `/named/…`, so that `receiver.behave(endpoint.description, …)` changes what it does.
    """

    def make(behaviour: str = "ok", **fields: object) -> Endpoint:
        served_as = f"{name}-{next(_numbers)}"
        receiver.behave(served_as, behaviour)
        fields = {"retry_policy": quick, "tenant": name, "url": receiver.url(f"named/{served_as}"), **fields}
        return Endpoint.objects.create(description=served_as, **fields)

    return make


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path.parent != item.path.parent:
        _stop()


def pytest_sessionfinish() -> None:
    # After an interrupt there is no next test whose start could end them.
    _stop()


def _stop() -> None:
    while _running:
        stack, blocker = _running.pop()
        stack.stop()
        with blocker.unblock():
            end_other_sessions()
            clear()
            connection.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and _running:
        report.sections += [(f"end of {name}.log", text) for name, text in _running[0][0].tails().items()]
    return report
