"""Pace while a backlog drains: changed limits, two workers on one endpoint, an endpoint that asks for less, a ramp."""

import time

from deliveries import dispatch, publish, publish_many
from deliveries.models import Delivery
from deliveries.pacing import rules
from endpoints import availability
from endpoints.models import Endpoint
from tests.acceptance.waiting import eventually

HOLDS_SECONDS = 5.0
"""A changed limit holds this soon: the configuration is read again every two seconds, by a machine that may be busy."""


def publish_batch(name: str, count: int) -> None:
    publish_many({"type": "payment.completed", "data": {"number": number}, "tenant": name} for number in range(count))


def path_of(endpoint) -> str:
    return f"/named/{endpoint.description}"


def arrivals_at(receiver, endpoint) -> list[float]:
    return sorted(request["monotonic"] for request in receiver.requests(path_of(endpoint), bodies=0))


def within(arrivals: list[float], begin: float, end: float) -> int:
    return sum(begin <= arrival < end for arrival in arrivals)


def set_limit(endpoint, limit: float) -> float:
    """Change it as the admin does; returns when."""
    changed = Endpoint.objects.get(pk=endpoint.pk)
    changed.rate_limit_per_second = limit
    changed.save()
    return time.monotonic()


def test_a_raised_limit_takes_effect_while_the_backlog_drains(subscribe, receiver, name):
    endpoint = subscribe(rate_limit_per_second=4)
    publish_batch(name, 200)
    receiver.wait_for(requests=4, path=path_of(endpoint))

    set_limit(endpoint, 400)

    # At the old limit it would take most of a minute.
    assert receiver.wait_for(requests=200, path=path_of(endpoint), timeout=HOLDS_SECONDS + 3)


def test_a_lowered_limit_takes_effect_while_the_backlog_drains(subscribe, receiver, name):
    endpoint = subscribe(rate_limit_per_second=60)
    publish_batch(name, 1000)
    receiver.wait_for(requests=60, path=path_of(endpoint))

    holds_from = set_limit(endpoint, 5) + HOLDS_SECONDS

    eventually(lambda: time.monotonic() > holds_from + 2)
    assert within(arrivals_at(receiver, endpoint), holds_from, holds_from + 2) <= 2 * 5 + rules.burst_size(5)


def test_two_workers_together_keep_to_the_requests_in_flight(subscribe, receiver, name):
    endpoint = subscribe("slow/0.1", max_concurrency=3)
    publish_batch(name, 90)
    receiver.wait_for(requests=6, path=path_of(endpoint))

    # From now on every wake-up goes to the other worker, which finds the endpoint taken and later takes it over.
    def wake_the_other() -> bool:
        dispatch.mark_slow([endpoint.pk])
        dispatch.wake([endpoint.pk])
        return Delivery.objects.filter(endpoint=endpoint, status="delivered").count() == 90

    eventually(wake_the_other)
    figures = receiver.stats()["paths"][path_of(endpoint)]
    assert (figures["peak_in_flight"], figures["requests"]) == (3, 90)


def test_one_that_asks_for_less_is_left_alone_as_a_whole(subscribe, receiver, name):
    endpoint = subscribe("throttle/3/1", max_concurrency=4)
    publish_batch(name, 40)
    eventually(lambda: receiver.stats()["paths"].get(path_of(endpoint), {}).get("answers", {}).get("429"))
    receiver.behave(endpoint.description, "ok")

    eventually(lambda: len(arrivals_at(receiver, endpoint)) > 8)

    arrivals = arrivals_at(receiver, endpoint)
    throttled = within(arrivals, arrivals[0], arrivals[0] + 2.5)
    assert throttled <= 4
    assert arrivals[throttled] - arrivals[0] >= 3
    # What was not sent meanwhile has spent nothing.
    spent = Delivery.objects.filter(endpoint=endpoint, attempt_count__gte=1, last_outcome="throttled").count()
    assert spent <= throttled
    # And it comes back on a ramp, not as a wall of what waited.
    assert within(arrivals, arrivals[throttled], arrivals[throttled] + 0.5) <= 0.5 * rules.ramp_rate(1000, 1) + 5


def test_a_slow_member_holds_up_nobody_elses_recording(subscribe, receiver, name):
    slow, quick = subscribe("slow/4"), subscribe()

    event = publish("payment.completed", {}, tenant=name)

    # One message woke both, one drain serves both.
    eventually(lambda: Delivery.objects.filter(event=event, endpoint=quick, status="delivered").exists(), within=3)
    assert Delivery.objects.get(event=event, endpoint=slow).status == "sending"


def test_an_endpoint_that_was_paused_comes_back_on_a_ramp(subscribe, receiver, name):
    endpoint = subscribe()
    availability.pause(endpoint, actor="a test", reason="maintenance")
    publish_batch(name, 1000)

    availability.enable(endpoint, actor="a test")
    receiver.wait_for(requests=60, path=path_of(endpoint))

    arrivals = arrivals_at(receiver, endpoint)
    elapsed = arrivals[-1] - arrivals[0]
    planned = sum(rules.ramp_rate(1000, tenth / 10) / 10 for tenth in range(int(elapsed * 10) + 2))
    assert len(arrivals) <= planned + rules.burst_size(rules.ramp_rate(1000, elapsed)) + 8
    assert elapsed > 2
