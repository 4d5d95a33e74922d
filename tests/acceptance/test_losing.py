"""What is lost on the way does not lose a delivery: messages, the broker, a worker told to stop, a worker killed."""

import signal
from collections import Counter

from django.utils import timezone

from deliveries import dispatch, publish, publish_many
from deliveries.models import Attempt, Delivery, Event
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from tests.acceptance.waiting import eventually
from tests.broker import broker_away

__all__ = ["broker_away"]


def is_delivered(event: Event) -> bool:
    return event.deliveries.filter(status="delivered").exists()


def publish_batch(name: str, count: int) -> None:
    publish_many({"type": "payment.completed", "data": {"number": number}, "tenant": name} for number in range(count))


def wait_for_requests_in_flight(receiver, endpoint, count: int) -> None:
    path = f"/named/{endpoint.description}"
    eventually(lambda: receiver.stats()["paths"].get(path, {}).get("in_flight") == count)


def delivered(endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint, status="delivered").count()


def test_an_event_published_while_the_broker_is_away_is_found_by_the_sweep(subscribe, name, broker_away):
    subscribe()

    event = publish("payment.completed", {}, tenant=name)

    assert Event.objects.filter(pk=event.pk).exists()
    eventually(lambda: is_delivered(event))


def test_a_retry_whose_message_and_worker_are_lost_is_found_by_the_sweep(subscribe, stack, receiver, name, quick):
    endpoint = subscribe("status/500", retry_policy=quick.__class__.objects.get(name="plaid"))
    event = publish("payment.completed", {}, tenant=name)
    # The wait of half a minute is a message that the worker holds by now.
    eventually(lambda: redis_client().exists(dispatch._timer(endpoint.pk)))
    receiver.behave(endpoint.description, "ok")

    stack.signal("healthy", signal.SIGKILL)
    stack.wait_for_end("healthy", 10)
    redis_client().flushdb()
    Delivery.objects.filter(event=event, status="pending").update(next_attempt_at=timezone.now())
    stack.start("healthy")

    eventually(lambda: is_delivered(event))
    assert Attempt.objects.filter(delivery__event=event).count() == 2


def test_a_worker_told_to_stop_finishes_what_is_in_flight_and_hands_back_the_rest_unspent(
    subscribe, stack, receiver, name
):
    endpoint = subscribe("slow/3", max_concurrency=4, timeout_seconds=10)
    publish_batch(name, 40)
    wait_for_requests_in_flight(receiver, endpoint, 4)

    stack.signal("healthy", signal.SIGTERM)
    # Sending everything it had claimed would take four rounds of 3 s, all that is due ten.
    stack.wait_for_end("healthy", 11)
    sent = receiver.stats()["paths"][f"/named/{endpoint.description}"]["requests"]
    receiver.behave(endpoint.description, "ok")
    stack.start("healthy")
    eventually(lambda: delivered(endpoint) == 40)

    assert sent < 16
    numbers = Attempt.objects.filter(delivery__endpoint=endpoint).values_list("number", flat=True)
    assert list(numbers) == [1] * 40
    figures = receiver.stats()["paths"][f"/named/{endpoint.description}"]
    assert (figures["requests"], figures["repeats"]) == (40, 0)


def test_a_killed_worker_costs_no_delivery_and_repeats_at_most_what_was_in_flight(subscribe, stack, receiver, name):
    endpoint = subscribe("slow/3", max_concurrency=4, timeout_seconds=10)
    publish_batch(name, 20)
    wait_for_requests_in_flight(receiver, endpoint, 4)

    stack.signal("healthy", signal.SIGKILL)
    stack.wait_for_end("healthy", 10)
    receiver.behave(endpoint.description, "ok")
    # The leases of the dead: the rows', and the one on the endpoint, which would last half a minute.
    stuck = Delivery.objects.filter(endpoint=endpoint, status="sending")
    assert stuck.update(lease_expires_at=timezone.now()) >= 4
    redis_client().delete(*keys(endpoint.pk, "lease"))
    stack.start("healthy")
    eventually(lambda: delivered(endpoint) == 20, within=60)

    figures = receiver.stats()["paths"][f"/named/{endpoint.description}"]
    assert figures["distinct"] == 20
    assert figures["repeats"] <= 4
    outcomes = Counter(Attempt.objects.filter(delivery__endpoint=endpoint).values_list("outcome", flat=True))
    assert outcomes["delivered"] == 20
    # Every claimed one was counted before it was sent, and its lapsed attempt says so.
    assert outcomes["unknown"] >= 4
    assert outcomes.keys() == {"delivered", "unknown"}
