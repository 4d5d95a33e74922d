"""An endpoint gets what it asked for, never more: rate, requests in flight, a pause."""

from deliveries import publish, publish_many
from deliveries.models import Delivery
from deliveries.pacing.rules import burst_size
from endpoints import availability
from tests.acceptance.waiting import eventually


def most_in_a_second(arrivals: list[float]) -> int:
    return max(sum(1 for other in arrivals if start <= other < start + 1) for start in arrivals)


def delivered(endpoint) -> int:
    return Delivery.objects.filter(endpoint=endpoint, status="delivered").count()


def publish_batch(name: str, count: int) -> None:
    publish_many({"type": "payment.completed", "data": {"number": number}, "tenant": name} for number in range(count))


def test_no_second_brings_more_requests_than_the_rate_limit_and_its_burst(subscribe, receiver, name):
    endpoint = subscribe(rate_limit_per_second=20)

    publish_batch(name, 60)
    eventually(lambda: delivered(endpoint) == 60)

    arrivals = [request["monotonic"] for request in receiver.requests(f"/named/{endpoint.description}")]
    assert len(arrivals) == 60
    assert most_in_a_second(arrivals) <= 20 + burst_size(20)
    # And it is not held far below what it asked for either.
    assert max(arrivals) - min(arrivals) < 2 * 60 / 20


def test_no_more_requests_are_in_flight_than_the_endpoint_allows(subscribe, receiver, name):
    endpoint = subscribe("slow/0.1", max_concurrency=3)

    for _ in range(6):
        publish_batch(name, 5)
    eventually(lambda: delivered(endpoint) == 30)

    assert receiver.stats()["paths"][f"/named/{endpoint.description}"]["peak_in_flight"] == 3


def test_a_paused_endpoint_holds_its_deliveries_and_gets_them_when_it_is_enabled(subscribe, receiver, name):
    endpoint, witness = subscribe(), subscribe()
    availability.pause(endpoint, actor="a test", reason="maintenance")

    event = publish("payment.completed", {}, tenant=name)
    eventually(lambda: delivered(witness) == 1)
    held = Delivery.objects.get(event=event, endpoint=endpoint)
    assert (held.status, held.attempt_count) == ("pending", 0)
    assert receiver.requests(f"/named/{endpoint.description}") == []

    availability.enable(endpoint, actor="a test")
    eventually(lambda: delivered(endpoint) == 1)
    assert [request["body"] for request in receiver.requests(f"/named/{endpoint.description}")] == [event.body]


def test_pausing_in_the_middle_of_a_backlog_holds_the_rest(subscribe, receiver, name):
    endpoint = subscribe("slow/0.2", max_concurrency=1)
    publish_batch(name, 60)
    eventually(lambda: delivered(endpoint) >= 1)

    availability.pause(endpoint, actor="a test", reason="maintenance")
    eventually(lambda: not Delivery.objects.filter(endpoint=endpoint, status="sending").exists())

    assert Delivery.objects.filter(endpoint=endpoint, status="pending", attempt_count=0).exists()
    receiver.behave(endpoint.description, "ok")
    availability.enable(endpoint, actor="a test")
    eventually(lambda: delivered(endpoint) == 60)
    assert receiver.stats()["paths"][f"/named/{endpoint.description}"]["repeats"] == 0
