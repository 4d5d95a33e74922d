"""What a wake-up sets off, with real rows and pacing and a receiver from a script."""

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.db import OperationalError
from django.utils import timezone

from deliveries.deliver import deliver
from deliveries.drain import outbox
from deliveries.models import Attempt, DeadLetter, Delivery
from deliveries.outcomes import Exchange
from deliveries.redrive import discard
from deliveries.statuses import Status
from deliveries.transitions.settle import settle
from deliveries.transport import MemoryTransport
from endpoints import availability
from endpoints.models import Endpoint, RetryPolicy, State
from endpoints.rotation import rotate
from endpoints.signing import verify
from tests.factories import backdate, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

OLD, NEW = "https://old.example/hook", "https://new.example/hook"


def test_a_retry_goes_to_where_the_endpoint_is_now_with_its_present_headers_and_secret():
    endpoint = make_endpoint(url=OLD, headers={"X-Key": "old"})
    event = make_event()
    receiver = MemoryTransport()
    receiver.script(OLD, 500)
    deliver([endpoint.pk], transport=receiver)
    endpoint.url, endpoint.headers = NEW, {"X-Key": "new"}
    endpoint.save()
    secret = rotate(endpoint, actor="anna", overlap=timedelta(0)).secret
    backdate(event.deliveries.get(), next_attempt_at=timedelta(seconds=1))

    deliver([endpoint.pk], transport=receiver)

    (first,), (second,) = receiver.requests_to(OLD), receiver.requests_to(NEW)
    assert second.body == first.body
    assert second.headers["X-Key"] == "new"
    assert verify([secret], second.headers, second.body, now=int(second.headers["webhook-timestamp"])) == event.pk
    hosts = Attempt.objects.order_by("number").values_list("host", flat=True)
    assert list(hosts) == ["https://old.example", "https://new.example"]


def test_a_wake_up_for_an_endpoint_that_is_not_there_ends_quietly():
    receiver = MemoryTransport()

    assert deliver([2_000_000_000], transport=receiver) == {}
    assert not receiver.requests


@pytest.mark.parametrize("switch_off", [availability.pause, availability.disable, availability.archive])
def test_a_wake_up_for_an_endpoint_that_was_switched_off_sends_nothing_and_spends_nothing(switch_off):
    endpoint = make_endpoint()
    deliveries = [make_event().deliveries.get() for _ in range(3)]
    switch_off(endpoint, actor="anna", reason="maintenance")
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    assert not receiver.requests
    for delivery in deliveries:
        delivery.refresh_from_db()
        assert (delivery.status, delivery.attempt_count) == (Status.PENDING, 0)


def test_one_event_for_three_endpoints_is_one_request_to_each():
    urls = [f"https://h.example/{number}" for number in range(3)]
    endpoints = [make_endpoint(url=url) for url in urls]
    event = make_event()
    receiver = MemoryTransport()

    deliver([endpoint.pk for endpoint in endpoints], transport=receiver)

    assert sorted(request.url for request in receiver.requests) == urls
    assert {delivery.status for delivery in event.deliveries.all()} == {Status.DELIVERED}


def test_five_redirects_are_five_dead_letters_that_name_the_target_and_switch_nothing_off():
    endpoint = make_endpoint(url=OLD)
    for _ in range(5):
        make_event()
    receiver = MemoryTransport(otherwise=Exchange(status_code=302, location=NEW))

    deliver([endpoint.pk], transport=receiver)

    assert len(receiver.requests_to(OLD)) == len(receiver.requests) == 5
    assert [NEW in letter.reason for letter in DeadLetter.objects.all()] == [True] * 5
    endpoint.refresh_from_db()
    assert endpoint.state == State.ACTIVE


@pytest.mark.parametrize(
    "forged",
    [
        {"webhook-id": "fixed", "webhook-signature": "v1,AAAA", "webhook-timestamp": "1"},
        {"Webhook-Id": "fixed", "Webhook-Signature": "v1,AAAA", "WEBHOOK-TIMESTAMP": "1"},
    ],
)
def test_headers_that_came_in_past_the_rules_do_not_replace_what_is_signed(forged):
    endpoint = make_endpoint(url=OLD)
    Endpoint.objects.filter(pk=endpoint.pk).update(headers=forged)
    event = make_event()
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    (request,) = receiver.requests
    sent: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        sent.setdefault(name.lower(), []).append(value)
    assert sent["webhook-id"] == [event.pk]
    assert all(len(values) == 1 for values in sent.values())
    secrets = [row.secret for row in endpoint.signing_secrets.all()]
    assert verify(secrets, request.headers, request.body, now=int(request.headers["webhook-timestamp"])) == event.pk


@pytest.mark.parametrize("zone", ["US/Eastern", "Asia/Kolkata"])
def test_the_next_attempt_is_as_far_away_as_it_should_be_in_any_time_zone(settings, zone):
    settings.TIME_ZONE = zone
    policy = RetryPolicy.objects.create(name="minute", kind="schedule", schedule_seconds=[60], max_attempts=2)
    endpoint = make_endpoint(retry_policy=policy)
    delivery = make_event().deliveries.get()

    deliver([endpoint.pk], transport=MemoryTransport(otherwise=500))

    delivery.refresh_from_db()
    assert timedelta(seconds=50) < delivery.next_attempt_at - timezone.now() < timedelta(seconds=70)


@pytest.mark.django_db(transaction=True)
def test_a_result_that_the_database_refuses_is_recorded_when_it_is_back_and_nothing_is_sent_twice(monkeypatch):
    endpoint = make_endpoint()
    delivery = make_event().deliveries.get()
    refusals = iter([OperationalError("the server closed the connection")] * 2)

    def refusing(results):
        if refusal := next(refusals, None):
            raise refusal
        return settle(results)

    monkeypatch.setattr(outbox, "settle", refusing)
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts.count(), len(receiver.requests)) == (Status.DELIVERED, 1, 1)


class TestInStrictOrder:
    def test_events_go_out_one_after_the_other_in_their_sequence(self):
        endpoint = make_endpoint(url=OLD, ordered=True)
        events = [make_event() for _ in range(20)]
        receiver = MemoryTransport()

        # One claim follows another only when the first is recorded: what is left then waits for the next wake-up.
        while Delivery.objects.filter(status=Status.PENDING).exists():
            before = len(receiver.requests)
            deliver([endpoint.pk], transport=receiver)
            assert len(receiver.requests) > before

        assert [request.headers["webhook-id"] for request in receiver.requests] == [event.pk for event in events]

    def test_one_that_has_to_be_tried_again_holds_all_that_come_after_it(self):
        endpoint = make_endpoint(url=OLD, ordered=True)
        first, *others = [make_event() for _ in range(3)]

        receiver = MemoryTransport(otherwise=500)
        deliver([endpoint.pk], transport=receiver)

        assert [request.headers["webhook-id"] for request in receiver.requests] == [first.pk]
        assert {event.deliveries.get().attempt_count for event in others} == {0}

    @pytest.mark.parametrize(("blocks", "sent"), [(True, 1), (False, 3)])
    def test_a_dead_letter_blocks_the_way_unless_it_may_step_aside(self, blocks, sent):
        endpoint = make_endpoint(url=OLD, ordered=True, dead_letter_blocks=blocks)
        for _ in range(3):
            make_event()
        receiver = MemoryTransport()
        receiver.script(OLD, 422, 200)

        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == sent

    def test_a_discarded_dead_letter_frees_the_way(self):
        endpoint = make_endpoint(url=OLD, ordered=True)
        _first, second = make_event(), make_event()
        receiver = MemoryTransport()
        receiver.script(OLD, 422, 200)
        deliver([endpoint.pk], transport=receiver)

        discard(DeadLetter.objects.all(), actor="anna", note="not needed")
        deliver([endpoint.pk], transport=receiver)

        assert receiver.requests[-1].headers["webhook-id"] == second.pk
        assert second.deliveries.get().status == Status.DELIVERED


def test_an_ordered_endpoint_gets_its_whole_backlog_in_one_drain_and_in_sequence():
    endpoint = make_endpoint(ordered=True)
    events = [make_event() for _ in range(70)]
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    assert [request.headers["webhook-id"] for request in receiver.requests] == [event.pk for event in events]


def test_an_endpoint_whose_encryption_key_is_missing_holds_up_nobody_and_loses_nothing(settings, caplog):
    lost = make_endpoint()
    settings.HOLDFAST_SECRET_KEYS = [Fernet.generate_key().decode()]
    well = make_endpoint()
    event = make_event()
    receiver = MemoryTransport()

    deliver([lost.pk, well.pk], transport=receiver)

    assert [delivery.status for delivery in event.deliveries.order_by("endpoint")] == [Status.PENDING, Status.DELIVERED]
    assert f"endpoint {lost.pk} cannot be sent to" in caplog.text
