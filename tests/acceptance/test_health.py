"""An endpoint goes bad, is warned about and disabled, its owner is told, it is mended and enabled, and all arrives."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F

from deliveries import publish_many
from deliveries.models import Delivery, EndpointHealth, EndpointProbe, EndpointSpan
from deliveries.statuses import Status
from deliveries.sweeps import health, probes
from demo.receiver.client import ReceiverProcess
from endpoints import availability
from endpoints.health import RULE
from endpoints.models import Endpoint, RetryPolicy, State
from tests.acceptance.processes import Stack
from tests.acceptance.waiting import eventually

HASTY = {"warn_below": 0.9, "disable_below": 0.5, "silent_minutes": 1, "least_samples": 6}
"""Thresholds that a test can wait for."""


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
        subjects = [str(mail["Subject"]) for mail in stack.mails() if mail["To"] == owner]
        return [subject for subject in subjects if word in subject]

    def state() -> str:
        return Endpoint.objects.get(pk=endpoint.pk).state

    endpoint = subscribe(owner_email=owner, health_thresholds=HASTY, retry_policy=slow_to_give_up, timeout_seconds=1)
    publish(name, 3)
    eventually(lambda: delivered(endpoint) == 3)

    receiver.behave(endpoint.description, "status/500")
    publish(name, 30)
    eventually(lambda: failures(endpoint) >= 4)
    # Beat does the same once a minute, and whoever comes second finds nothing to do.
    health.sweep()
    assert (state(), level()) == (State.ACTIVE, "warning")

    # As if the successes lay five minutes back: since then it is silent.
    EndpointSpan.objects.filter(endpoint=endpoint).update(starts_at=F("starts_at") - timedelta(minutes=5))
    health.sweep()
    assert (state(), level()) == (State.DISABLED, "failing")
    assert Endpoint.objects.get(pk=endpoint.pk).state_changed_by == "rule: health"

    publish(name, 5)
    assert eventually(lambda: mails_about("fails too often") and mails_about("is disabled"), within=60)
    assert delivered(endpoint) == 3

    receiver.behave(endpoint.description, "ok")
    availability.enable(endpoint.pk, actor="operator", reason="Mended.")
    eventually(lambda: delivered(endpoint) == 38, within=90)
    health.sweep()
    assert eventually(lambda: mails_about("is enabled again"), within=60)
    assert len(mails_about("fails too often")) == len(mails_about("is disabled")) == 1
    assert state() == State.ACTIVE


def test_a_disabled_endpoint_that_was_mended_is_found_by_a_probe_and_gets_everything(
    subscribe: Callable[..., Endpoint], name: str
):
    endpoint = subscribe(health_thresholds={"probe_minutes": 1})
    availability.disable(endpoint, actor=RULE, reason="None succeeded.")
    publish(name, 4)
    probes.sweep()
    EndpointProbe.objects.filter(endpoint=endpoint).update(next_at=F("disabled_at"))

    probes.sweep()

    eventually(lambda: delivered(endpoint) == 4)
    assert Endpoint.objects.get(pk=endpoint.pk).state_changed_by == RULE


def delivered(endpoint: Endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint, status=Status.DELIVERED).count()


def publish(tenant: str, number: int) -> None:
    publish_many({"type": "payment.completed", "data": {"n": n}, "tenant": tenant} for n in range(number))


def failures(endpoint: Endpoint) -> int:
    return sum(span.attempts - span.delivered for span in endpoint.spans.all())
