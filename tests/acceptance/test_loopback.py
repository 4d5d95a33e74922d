"""Holdfast delivers to Holdfast: what the sender promises at least once, the inbox makes exactly once."""

from functools import partial

import pytest

from deliveries import publish_many
from deliveries.models import Attempt
from endpoints.models import Endpoint
from inbox.models import ReceivedEvent, Source
from tests.acceptance.hurrying import take_back_deliveries, take_back_received
from tests.acceptance.waiting import eventually
from tests.bookshop.accounts import account
from tests.bookshop.faults import SHARE_HEADER
from tests.bookshop.inbox_handlers import LOOPBACK
from tests.bookshop.models import Effect

EVENTS = 300
EFFECTS_BETWEEN_KILLS = 40


@pytest.fixture
def source(transactional_db) -> Source:
    return Source.objects.create(slug=LOOPBACK, scheme="standard-webhooks", concurrency=3)


@pytest.fixture
def endpoint(door, source, name, quick) -> Endpoint:
    """Our own door, at which one answer in twenty is lost or an error."""
    endpoint = Endpoint.objects.create(
        url=f"{door}/inbox/{LOOPBACK}/", tenant=name, retry_policy=quick, headers={SHARE_HEADER: "0.05"}
    )
    source.secrets.create(secret=endpoint.signing_secrets.get().secret)
    return endpoint


def there_are(effects: int) -> bool:
    return Effect.objects.filter(source=LOOPBACK).count() >= effects


def publish(name: str) -> list[str]:
    events = [{"type": "loop.closed", "tenant": name, "data": {"number": number}} for number in range(EVENTS)]
    return [event.pk for event in publish_many(events)]


def test_each_event_has_its_effect_once_though_answers_are_lost_and_every_process_is_killed(
    stack, source, endpoint, name
):
    ids = publish(name)
    for number, victim in enumerate(["healthy", "web", "inbox"], start=1):
        eventually(partial(there_are, number * EFFECTS_BETWEEN_KILLS))
        stack.kill(victim)
        stack.start(victim)
        take_back_deliveries(endpoint)
        take_back_received(source)

    eventually(lambda: source.events.filter(status="processed").count() == EVENTS)
    found = account(LOOPBACK, ids)
    assert (found.effects, found.missing, found.doubled) == (EVENTS, [], [])
    assert Attempt.objects.filter(delivery__endpoint=endpoint).exclude(outcome="delivered").exists()
    assert ReceivedEvent.objects.filter(source=source, duplicates__gt=0).exists()
