"""What becomes of a delivery when the endpoint does not say 2xx: retried, parked with a reason, or held."""

import time
from email.message import Message

import pytest

from deliveries import publish
from deliveries.models import Attempt, DeadLetter, Delivery, Event
from demo.receiver.client import ReceiverProcess
from endpoints.models import State, StateChange
from tests.acceptance.waiting import eventually


def attempts_of(event: Event) -> list[Attempt]:
    return list(Attempt.objects.filter(delivery__event=event).order_by("number"))


def is_delivered(event: Event) -> bool:
    return event.deliveries.filter(status="delivered").exists()


def first_attempt(event: Event) -> Attempt:
    return eventually(lambda: attempts_of(event))[0]


def requests_to(receiver: ReceiverProcess, endpoint) -> list[dict]:
    return receiver.requests(f"/named/{endpoint.description}")


def test_an_answer_slower_than_the_timeout_is_tried_again_and_not_given_up(subscribe, receiver, name):
    endpoint = subscribe("slow/20", timeout_seconds=1)

    event = publish("payment.completed", {}, tenant=name)
    attempt = first_attempt(event)
    receiver.behave(endpoint.description, "ok")
    eventually(lambda: is_delivered(event))

    assert attempt.outcome == "timeout"
    assert 900 <= attempt.duration_ms < 3000
    assert not DeadLetter.objects.filter(delivery__event=event).exists()
    assert len({request["body"] for request in requests_to(receiver, endpoint)}) == 1


def test_an_answer_that_drips_beyond_the_deadline_times_out_at_the_deadline(subscribe, name):
    subscribe("drip/0.3", timeout_seconds=1)

    attempt = first_attempt(publish("payment.completed", {}, tenant=name))

    assert attempt.outcome == "timeout"
    assert 900 <= attempt.duration_ms < 3000


@pytest.mark.parametrize("behaviour", ["hangup", "reset"])
def test_a_connection_lost_after_the_request_is_unknown_and_sent_again_unchanged(subscribe, receiver, name, behaviour):
    endpoint = subscribe(behaviour)

    event = publish("payment.completed", {"amount": 1}, tenant=name)
    attempt = first_attempt(event)
    receiver.behave(endpoint.description, "ok")
    eventually(lambda: is_delivered(event))

    assert attempt.outcome == "unknown"
    sent = {(request["webhook-id"], request["body"]) for request in requests_to(receiver, endpoint)}
    assert sent == {(event.pk, event.body)}
    assert len(requests_to(receiver, endpoint)) == len(attempts_of(event)) >= 2


def test_a_refused_request_is_a_dead_letter_at_once_with_everything_in_it(subscribe, stack, receiver, name):
    endpoint = subscribe("status/422", headers={"x-api-key": "SECRET-VALUE"})

    event = publish("payment.completed", {"amount": 1}, tenant=name)
    letter = eventually(lambda: DeadLetter.objects.filter(delivery__event=event).first())

    assert (letter.failure_class, letter.resolution, letter.event_type) == ("rejected", "open", "payment.completed")
    assert "422" in letter.reason
    assert (letter.url, letter.body) == (endpoint.url, event.body)
    assert letter.headers["webhook-id"] == event.pk
    assert letter.headers["x-api-key"] == "(hidden)"
    assert "SECRET-VALUE" not in str(letter.headers)
    assert [(tried["number"], tried["status_code"]) for tried in letter.attempts] == [(1, 422)]
    assert len(requests_to(receiver, endpoint)) == 1
    assert Delivery.objects.get(event=event).status == "dead"


def test_operators_are_mailed_about_a_dead_letter_without_its_url(subscribe, stack, name):
    endpoint = subscribe("status/400")

    event = publish("payment.completed", {}, tenant=name)
    letter = eventually(lambda: DeadLetter.objects.filter(delivery__event=event, announced_at__isnull=False).first())

    def about_it() -> list[Message]:
        return [mail for mail in stack.mails() if f"#{letter.pk} " in str(mail)]

    (mail,) = eventually(about_it)
    assert mail["To"] == "operator@example.com"
    assert endpoint.description not in str(mail)


def test_a_redirect_is_a_dead_letter_and_is_never_followed(subscribe, receiver, name):
    before = len(receiver.requests("/ok"))
    endpoint = subscribe("redirect/301")

    event = publish("payment.completed", {}, tenant=name)
    letter = eventually(lambda: DeadLetter.objects.filter(delivery__event=event).first())

    assert letter.failure_class == "redirect"
    assert "/ok" in letter.reason
    assert [request["method"] for request in requests_to(receiver, endpoint)] == ["POST"]
    assert len(receiver.requests("/ok")) == before


def test_an_endpoint_that_is_gone_is_disabled_and_the_ledger_says_why(subscribe, name):
    endpoint = subscribe("status/410")

    event = publish("payment.completed", {}, tenant=name)
    change = eventually(lambda: StateChange.objects.filter(endpoint=endpoint).first())

    assert (change.from_state, change.to_state) == (State.ACTIVE, State.DISABLED)
    assert "410" in change.reason
    assert change.actor.startswith("rule")
    endpoint.refresh_from_db()
    assert endpoint.state == State.DISABLED
    assert DeadLetter.objects.get(delivery__event=event).failure_class == "gone"


def test_a_throttled_endpoint_gets_nothing_before_the_time_it_asked_for(subscribe, receiver, name):
    endpoint = subscribe("throttle/2/1")

    event = publish("payment.completed", {}, tenant=name)
    throttled = first_attempt(event)
    delivery = Delivery.objects.get(event=event)
    other = publish("payment.completed", {}, tenant=name)
    eventually(lambda: len(requests_to(receiver, endpoint)) >= 2)

    assert (throttled.outcome, throttled.retry_after) == ("throttled", "2")
    assert (delivery.next_attempt_at - throttled.started_at).total_seconds() >= 2
    # The other delivery, due all the time, was held back as well.
    first, second = requests_to(receiver, endpoint)[:2]
    assert second["webhook-id"] == other.pk
    assert second["monotonic"] - first["monotonic"] >= 2


def test_an_address_that_may_not_be_dialled_gets_nothing_and_the_delivery_is_parked(subscribe, name):
    with ReceiverProcess(host="127.0.0.2") as forbidden:
        subscribe(url=forbidden.url("ok"))

        event = publish("payment.completed", {}, tenant=name)
        letter = eventually(lambda: DeadLetter.objects.filter(delivery__event=event).first())

        assert letter.failure_class == "blocked"
        assert forbidden.stats()["requests"] == 0
        assert forbidden.stats()["broken"] == {}
        assert attempts_of(event)[0].snippet == ""


def test_nobody_listening_is_a_connection_failure_and_is_tried_again(subscribe, name):
    subscribe(url="http://127.0.0.1:9/hook")

    event = publish("payment.completed", {}, tenant=name)
    eventually(lambda: len(attempts_of(event)) >= 2)

    assert {attempt.outcome for attempt in attempts_of(event)} == {"connection"}
    assert Delivery.objects.get(event=event).status in {"pending", "sending"}


def test_a_failing_endpoint_does_not_delay_another_one(subscribe, receiver, name):
    subscribe("hang", timeout_seconds=3, max_concurrency=2)
    healthy = subscribe("ok")

    began = time.monotonic()
    for number in range(20):
        publish("payment.completed", {"number": number}, tenant=name)
    eventually(lambda: Delivery.objects.filter(endpoint=healthy, status="delivered").count() == 20)

    # One hanging request alone takes 3 s; ten rounds of two would take 30 s.
    assert time.monotonic() - began < 3
