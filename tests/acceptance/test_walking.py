"""A whole retry schedule, walked by real workers. Only the time between attempts is skipped, in the rows."""

import itertools
from datetime import timedelta

from django.utils import timezone

from deliveries import dispatch, pacing, publish
from deliveries.models import Attempt, DeadLetter, Delivery
from deliveries.redrive import redrive
from endpoints.models import RetryPolicy
from endpoints.policies import SHIPPED
from tests.acceptance.waiting import eventually

POLICY = next(policy for policy in SHIPPED if policy.name == "six-step")


def numbers(delivery: Delivery) -> list[int]:
    return list(Attempt.objects.filter(delivery=delivery).order_by("number").values_list("number", flat=True))


def wait_for_attempt(delivery: Delivery, number: int) -> None:
    eventually(lambda: len(numbers(delivery)) == number)
    delivery.refresh_from_db()


def skip_the_wait(delivery: Delivery) -> timedelta:
    """Make a waiting delivery due, close its endpoint's circuit, ring; returns how long it would have waited."""
    wait = delivery.next_attempt_at - timezone.now()
    Delivery.objects.filter(pk=delivery.pk, status="pending").update(next_attempt_at=timezone.now())
    pacing.resume(delivery.endpoint_id, "the test moves time", afresh=True)
    dispatch.wake([delivery.endpoint_id])
    return wait


def test_a_failing_delivery_makes_exactly_the_attempts_of_its_policy_then_one_dead_letter(subscribe, receiver, name):
    endpoint = subscribe("status/500", retry_policy=RetryPolicy.objects.get(name=POLICY.name))

    event = publish("payment.completed", {}, tenant=name)
    delivery = Delivery.objects.get(event=event)
    waits = []
    for number in range(1, POLICY.max_attempts):
        wait_for_attempt(delivery, number)
        waits.append(skip_the_wait(delivery))
    wait_for_attempt(delivery, POLICY.max_attempts)

    letter = eventually(lambda: DeadLetter.objects.filter(delivery=delivery).first())
    assert numbers(delivery) == list(range(1, POLICY.max_attempts + 1))
    assert delivery.status == "dead"
    assert letter.failure_class == "server_error"
    assert f"All {POLICY.max_attempts} attempts" in letter.reason
    assert len(letter.attempts) == POLICY.max_attempts
    assert len(receiver.requests(f"/named/{endpoint.description}")) == POLICY.max_attempts
    for wait, planned in itertools.zip_longest(waits, POLICY.schedule_seconds):
        assert planned - 5 < wait.total_seconds() <= planned * (1 + POLICY.jitter)


def test_after_a_redrive_the_numbers_go_on_with_a_fresh_budget(subscribe, receiver, name):
    policy = RetryPolicy.objects.get_or_create(name="two", defaults={"max_attempts": 2, "base_seconds": 300})[0]
    endpoint = subscribe("status/500", retry_policy=policy)
    delivery = Delivery.objects.get(event=publish("payment.completed", {}, tenant=name))
    wait_for_attempt(delivery, 1)
    skip_the_wait(delivery)
    letter = eventually(lambda: DeadLetter.objects.filter(delivery=delivery).first())

    operation = redrive([letter.pk], actor="a test", note="the receiver is mended")
    wait_for_attempt(delivery, 3)
    receiver.behave(endpoint.description, "ok")
    skip_the_wait(delivery)
    eventually(lambda: Delivery.objects.filter(pk=delivery.pk, status="delivered").exists())

    letter.refresh_from_db()
    assert (letter.resolution, letter.operation_id) == ("redriven", operation.pk)
    assert numbers(delivery) == [1, 2, 3, 4]
    assert DeadLetter.objects.filter(delivery=delivery).count() == 1
    assert len({request["body"] for request in receiver.requests(f"/named/{endpoint.description}")}) == 1
