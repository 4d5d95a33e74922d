"""An endpoint goes bad, is warned about and disabled, its owner is told, it is mended and enabled, and all arrives."""

from collections.abc import Callable
from datetime import timedelta
from email import message_from_string

import pytest
from django.db.models import F

from deliveries import publish_many
from deliveries.models import Delivery, EndpointHealth, EndpointSpan
from deliveries.statuses import Status
from demo.receiver.client import ReceiverProcess
from endpoints import availability
from endpoints.models import Endpoint, RetryPolicy, State
from tests.acceptance.processes import Stack
from tests.acceptance.waiting import eventually

HASTY = {"warn_below": 0.9, "disable_below": 0.5, "silent_minutes": 1, "least_samples": 10}
"""Thresholds that a test can wait for; the sweep is beat's own and runs once a minute."""

SWEPT_SECONDS = 150.0


@pytest.fixture
def owner(name: str) -> str:
    return f"{name}@example.org"


@pytest.fixture
def slow_to_give_up() -> RetryPolicy:
    """Tries again soon and nearly for ever, so that what fails now waits for the endpoint."""
    values = {"kind": "exponential", "base_seconds": 1, "cap_seconds": 2, "max_attempts": 100}
    return RetryPolicy.objects.get_or_create(name="slow-to-give-up", defaults=values)[0]


def test_an_endpoint_that_goes_bad_is_warned_disabled_mended_and_gets_everything(
    stack: Stack,
    subscribe: Callable[..., Endpoint],
    receiver: ReceiverProcess,
    name: str,
    owner: str,
    slow_to_give_up: RetryPolicy,
):
    def level() -> str:
        found = EndpointHealth.objects.filter(endpoint=endpoint).first()
        return found.level if found else ""

    def mails_about(word: str) -> list[str]:
        mails = [message_from_string(file.read_text()) for file in stack.mail_dir.glob("*")]
        return [str(mail["Subject"]) for mail in mails if mail["To"] == owner and word in str(mail["Subject"])]

    def state() -> str:
        return Endpoint.objects.get(pk=endpoint.pk).state

    endpoint = subscribe(owner_email=owner, health_thresholds=HASTY, retry_policy=slow_to_give_up, timeout_seconds=1)
    publish(name, 20)
    eventually(lambda: Delivery.objects.filter(endpoint=endpoint, status=Status.DELIVERED).count() == 20)

    # It goes bad: first a part of its answers, in the figures of a few minutes ago, then every one.
    receiver.behave(endpoint.description, "status/500")
    publish(name, 30)
    eventually(lambda: failures(endpoint) >= 5)
    assert eventually(lambda: level() == "warning" and mails_about("fails too often"), within=SWEPT_SECONDS)
    assert state() == State.ACTIVE

    EndpointSpan.objects.filter(endpoint=endpoint).update(starts_at=F("starts_at") - timedelta(minutes=5))
    eventually(lambda: failures(endpoint) >= 25, within=SWEPT_SECONDS)
    eventually(lambda: state() == State.DISABLED, within=SWEPT_SECONDS)
    assert eventually(lambda: mails_about("is disabled"))
    assert Endpoint.objects.get(pk=endpoint.pk).state_changed_by == "rule: health"

    # It is held: what is published now is recorded, and nothing is sent.
    publish(name, 5)
    asked = len(receiver.requests(f"/named/{endpoint.description}"))

    receiver.behave(endpoint.description, "ok")
    availability.enable(endpoint.pk, actor="operator", reason="Mended.")
    eventually(lambda: Delivery.objects.filter(endpoint=endpoint, status=Status.DELIVERED).count() == 55, within=90)
    assert eventually(lambda: mails_about("is enabled again"))
    assert len(receiver.requests(f"/named/{endpoint.description}")) >= asked + 35
    assert len(mails_about("fails too often")) == len(mails_about("is disabled")) == 1
    # Old failures do not disable it again.
    assert (state(), level()) == (State.ACTIVE, "unknown")


def publish(tenant: str, number: int) -> None:
    publish_many({"type": "payment.completed", "data": {"n": n}, "tenant": tenant} for n in range(number))


def failures(endpoint: Endpoint) -> int:
    return sum(span.attempts - span.delivered for span in endpoint.spans.all())
