"""Sending and receiving do not stand in each other's way: each has its queues and its workers."""

from deliveries import publish
from inbox.models import ReceivedEvent, Source
from tests.acceptance.hurrying import take_back_received
from tests.acceptance.waiting import eventually
from tests.bookshop.inbox_handlers import SOURCE
from webhooks_project.roles import WORKER_THREADS


def test_handlers_that_hang_in_every_thread_hold_up_no_delivery(stack, post, subscribe, name):
    subscribe()
    ids = [f"{name}-{number}" for number in range(WORKER_THREADS)]
    for id in ids:
        post("charge", id)
    hanging = ReceivedEvent.objects.filter(event_id__in=ids, status="processing", attempt_count=1)
    eventually(lambda: hanging.count() == WORKER_THREADS)

    event = publish("payment.completed", {}, tenant=name)

    eventually(lambda: event.deliveries.filter(status="delivered").exists(), within=5)
    assert hanging.count() == WORKER_THREADS
    stack.kill("inbox")
    stack.start("inbox")
    take_back_received(Source.objects.get(slug=SOURCE))


def test_endpoints_that_hang_in_every_thread_hold_up_no_received_event(receiver, post, subscribe, name):
    endpoints = [subscribe("slow/3", timeout_seconds=5) for _ in range(WORKER_THREADS)]
    publish("payment.completed", {}, tenant=name)
    paths = [f"/named/{endpoint.description}" for endpoint in endpoints]

    def in_flight() -> list[int]:
        return [receiver.stats()["paths"].get(path, {}).get("in_flight") for path in paths]

    eventually(lambda: in_flight() == [1] * WORKER_THREADS)

    post("order.paid", name)

    eventually(lambda: ReceivedEvent.objects.filter(event_id=name, status="processed").exists(), within=2)
    assert in_flight() == [1] * WORKER_THREADS
