"""A dead endpoint: a handful of requests, then nothing until a probe finds it well. Only the waits are skipped."""

import time

from django.db.models import Sum
from django.utils import timezone

from deliveries import publish, publish_many
from deliveries.models import Delivery
from deliveries.pacing import describe, rules
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from endpoints.models import RetryPolicy
from tests.acceptance.waiting import eventually

DUE = 2_000


def attempts_spent(endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint).aggregate(spent=Sum("attempt_count"))["spent"]


def circuit_of(endpoint) -> str:
    return describe([endpoint.pk])[endpoint.pk].circuit


def skip_to(endpoint, field: str, seconds: float) -> None:
    """Let a moment that pacing waits for come in so many seconds, and the bell, which is silent until then, ring."""
    flow, bell = keys(endpoint.pk, "flow", "bell")
    now, micros = redis_client().time()
    redis_client().hset(flow, field, now * 1000 + micros / 1000 + seconds * 1000)
    redis_client().delete(bell)


def requests_at(receiver, endpoint) -> int:
    return receiver.stats()["paths"].get(f"/named/{endpoint.description}", {}).get("requests", 0)


def test_a_dead_endpoint_costs_a_handful_of_requests_and_gets_everything_when_it_is_back(subscribe, receiver, name):
    endpoint = subscribe("hangup", retry_policy=RetryPolicy.objects.get(name="default"))
    publish_many({"type": "payment.completed", "data": {"n": n}, "tenant": name} for n in range(DUE))
    eventually(lambda: circuit_of(endpoint) == "open")
    eventually(lambda: not Delivery.objects.filter(endpoint=endpoint, status="sending").exists())

    spent = attempts_spent(endpoint)
    assert rules.OPEN_STREAK <= spent <= rules.OPEN_STREAK + endpoint.max_concurrency
    assert requests_at(receiver, endpoint) == spent

    # While it is open, sweeps pass and new events come: nothing is sent and nothing is spent.
    publish("payment.completed", {"n": DUE}, tenant=name)
    seen = time.monotonic()
    eventually(lambda: time.monotonic() - seen > 3)
    assert (attempts_spent(endpoint), requests_at(receiver, endpoint)) == (spent, spent)

    # A probe finds it still dead: one request, and a longer wait.
    skip_to(endpoint, "probe_at", 0)
    eventually(lambda: describe([endpoint.pk])[endpoint.pk].times_opened == 2)
    assert requests_at(receiver, endpoint) == spent + 1
    assert describe([endpoint.pk])[endpoint.pk].probe_in > 0.9 * 2 * rules.FIRST_OPEN_SECONDS - 3

    # The next one finds it well.
    receiver.behave(endpoint.description, "ok")
    skip_to(endpoint, "probe_at", 0)
    eventually(lambda: circuit_of(endpoint) == "closed")
    assert describe([endpoint.pk])[endpoint.pk].ramp_reason == "recovered"
    skip_to(endpoint, "ramp_at", -rules.RAMP_SECONDS)
    Delivery.objects.filter(endpoint=endpoint, status="pending").update(next_attempt_at=timezone.now())
    eventually(lambda: Delivery.objects.filter(endpoint=endpoint, status="delivered").count() == DUE + 1, within=60)
    figures = receiver.stats()["paths"][f"/named/{endpoint.description}"]
    assert (figures["accepted"], figures["duplicates"]) == (DUE + 1, 0)
    assert figures["requests"] == DUE + 1 + spent + 1
