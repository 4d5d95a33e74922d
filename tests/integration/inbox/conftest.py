"""A source whose requests we can sign, handlers for the length of a test, and a worker that works when told to."""

import json
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.test import Client

from endpoints.signing import new_secret, sign
from inbox import accounts, handlers
from inbox.models import ReceivedEvent, Source
from inbox.process import process

_numbers = count(1)


class Sender:
    """Somebody who posts Standard Webhooks to one source."""

    def __init__(self, source: Source, secret: str) -> None:
        self.source, self.secret = source, secret
        self.client = Client()

    def post(self, data: Any = None, *, type: str = "order.paid", id: str | None = None, **more: Any) -> Any:
        body = json.dumps({"type": type, "data": data}).encode()
        return self.post_bytes(body, id=id or f"msg_{next(_numbers)}", **more)

    def post_bytes(
        self,
        body: bytes,
        *,
        id: str = "msg_1",
        secret: str = "",
        at: float | None = None,
        headers: dict[str, str] | None = None,
        path: str = "",
    ) -> Any:
        timestamp = int(time.time() if at is None else at)
        signed = {
            "webhook-id": id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign([secret or self.secret], id, timestamp, body),
        }
        return self.client.post(
            path or f"/inbox/{self.source.slug}/",
            data=body,
            content_type="application/json",
            headers={**signed, **(headers or {})},
        )

    def event(self, id: str) -> ReceivedEvent:
        return ReceivedEvent.objects.get(source=self.source, event_id=id)


def make_source(**fields: Any) -> Source:
    fields.setdefault("slug", f"shop-{next(_numbers)}")
    fields.setdefault("scheme", "standard-webhooks")
    return Source.objects.create(**fields)


def make_sender(**fields: Any) -> Sender:
    source, secret = make_source(**fields), new_secret()
    source.secrets.create(secret=secret)
    return Sender(source, secret)


@pytest.fixture(autouse=True)
def no_collected_files(settings: Any, tmp_path: Path) -> None:
    """WhiteNoise warns when nobody has run collectstatic."""
    settings.STATIC_ROOT = str(tmp_path)


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The door reads a source anew each time, so that a test need not wait a second for what it changed."""
    monkeypatch.setattr(accounts, "REMEMBERED_SECONDS", 0.0)


@pytest.fixture
def sender(db: None, empty_redis: None) -> Sender:
    return make_sender()


@pytest.fixture
def new_sender(db: None, empty_redis: None) -> Callable[..., Sender]:
    return make_sender


@pytest.fixture
def handles(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`handles(sender, "order.*")(function)`: registered for this test only."""
    monkeypatch.setattr(handlers, "_registry", {})

    def register(sender: Sender, *patterns: str, **options: Any) -> Callable[..., Any]:
        return handlers.handler(sender.source.slug, *patterns, **options)

    return register


@pytest.fixture
def work() -> Callable[[Sender], int]:
    """What one worker does with what is due now."""
    return lambda sender: process(sender.source.pk, rng=Random(7))
