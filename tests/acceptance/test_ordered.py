"""An ordered endpoint gets its events in sequence, whatever fails on the way."""

import os
import signal
from itertools import groupby

from django.utils import timezone

from deliveries import publish, publish_many
from deliveries.models import DeadLetter, Delivery
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from deliveries.redrive import redrive
from tests.acceptance.waiting import eventually

EVENTS = int(os.environ.get("HOLDFAST_ORDERED_EVENTS") or 150)
"""`HOLDFAST_ORDERED_EVENTS=2000` is the long run; it also waits out the leases of the killed worker."""

IS_LONG = EVENTS > 1000
FAILING_PERCENT = 5


def delivered(endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint, status="delivered").count()


def got(receiver, endpoint) -> list[str]:
    """Ids in the order in which they came; attempts in a row of one event count once."""
    ids = [request["webhook-id"] for request in receiver.requests(f"/named/{endpoint.description}", bodies=0)]
    return [id for id, _ in groupby(ids)]


def publish_one(name: str, number: int):
    return publish("payment.completed", {"number": number}, tenant=name)


def test_events_arrive_in_exact_sequence_though_the_endpoint_fails_at_random_and_a_worker_is_killed(
    subscribe, stack, receiver, name
):
    endpoint = subscribe(f"random/{FAILING_PERCENT}/7", ordered=True)
    published = publish_many(
        # Fixed ids, as the receiver fails by them: every run fails alike.
        {"type": "payment.completed", "data": {"number": number}, "tenant": name, "id": f"ordered-{number}"}
        for number in range(EVENTS)
    )
    assert receiver.wait_for(accepted=EVENTS // 2, path=f"/named/{endpoint.description}", timeout=EVENTS)

    stack.signal("healthy", signal.SIGKILL)
    stack.wait_for_end("healthy", 10)
    if not IS_LONG:
        # The leases of the dead end now, and not in half a minute.
        Delivery.objects.filter(endpoint=endpoint, status="sending").update(lease_expires_at=timezone.now())
        redis_client().delete(*keys(endpoint.pk, "lease"))
    stack.start("healthy")

    eventually(lambda: delivered(endpoint) == EVENTS, within=60 + EVENTS)
    assert got(receiver, endpoint) == [event.pk for event in published]
    figures = receiver.stats()["paths"][f"/named/{endpoint.description}"]
    assert figures["answers"]["500"] >= 3
    assert figures["peak_in_flight"] == 1
    # At most what was in flight when the worker died came twice.
    assert figures["duplicates"] <= 1


def test_a_dead_letter_in_the_way_blocks_until_it_is_redriven(subscribe, receiver, name):
    endpoint, witness = subscribe("status/422", ordered=True), subscribe()
    first = publish_one(name, 1)
    letter = eventually(lambda: DeadLetter.objects.filter(delivery__event=first).first())
    receiver.behave(endpoint.description, "ok")

    rest = [publish_one(name, number) for number in (2, 3)]
    eventually(lambda: delivered(witness) == 3)
    waiting = Delivery.objects.filter(endpoint=endpoint, status="pending", attempt_count=0)
    assert waiting.count() == 2
    assert got(receiver, endpoint) == [first.pk]

    redrive([letter.pk], actor="a test", note="the receiver is mended")
    eventually(lambda: delivered(endpoint) == 3)
    assert got(receiver, endpoint) == [first.pk, *(event.pk for event in rest)]


def test_a_dead_letter_steps_aside_where_that_was_chosen(subscribe, receiver, name):
    endpoint = subscribe("status/422", ordered=True, dead_letter_blocks=False)
    first = publish_one(name, 1)
    eventually(lambda: DeadLetter.objects.filter(delivery__event=first).exists())
    receiver.behave(endpoint.description, "ok")

    rest = [publish_one(name, number) for number in (2, 3)]
    eventually(lambda: delivered(endpoint) == 2)

    assert got(receiver, endpoint) == [first.pk, *(event.pk for event in rest)]


def test_a_retry_in_the_way_holds_what_is_behind_it(subscribe, receiver, name):
    endpoint = subscribe("flaky/2", ordered=True)

    events = [publish_one(name, number) for number in range(3)]
    eventually(lambda: delivered(endpoint) == 3)

    assert got(receiver, endpoint) == [event.pk for event in events]
    assert receiver.stats()["paths"][f"/named/{endpoint.description}"]["requests"] == 9
