"""A committed event arrives: signed, whole, once; one that was rolled back does not."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import transaction
from django.test import Client
from django.urls import reverse
from standardwebhooks import Webhook, WebhookVerificationError

from deliveries import publish, publish_many
from deliveries.errors import IdempotencyConflict
from deliveries.models import Attempt, Delivery, Event
from endpoints import rotation
from tests.acceptance.waiting import eventually


def is_delivered(event: Event) -> bool:
    statuses = set(event.deliveries.values_list("status", flat=True))
    return statuses == {"delivered"}


def secrets_of(endpoint) -> list[str]:
    """Newest first."""
    return [row.secret for row in endpoint.signing_secrets.all()]


def test_a_committed_event_arrives_as_it_is_stored_and_signed(subscribe, receiver, name):
    endpoint = subscribe()

    with transaction.atomic():
        event = publish("payment.completed", {"amount": "12.50", "payer": "Zoë 😊", "score": 0.0}, tenant=name)
    eventually(lambda: is_delivered(event))

    (request,) = receiver.requests(f"/named/{endpoint.description}")
    assert request["method"] == "POST"
    assert request["body"] == event.body
    assert request["webhook-id"] == event.pk
    assert request["headers"]["content-type"] == "application/json"
    assert request["headers"]["user-agent"].startswith("Holdfast/")
    assert request["headers"]["content-length"] == str(len(event.body.encode()))
    # An implementation that is not ours accepts the signature, and only of these bytes.
    Webhook(secrets_of(endpoint)[0]).verify(request["body"], request["headers"])
    with pytest.raises(WebhookVerificationError):
        Webhook(secrets_of(endpoint)[0]).verify(request["body"] + " ", request["headers"])


def test_the_body_says_what_happened_in_the_documented_form(subscribe, receiver, name):
    endpoint = subscribe()

    event = publish("payment.completed", {"amount": "12.50"}, tenant=name)
    eventually(lambda: is_delivered(event))

    body = json.loads(receiver.requests(f"/named/{endpoint.description}")[0]["body"])
    assert list(body) == ["id", "type", "created_at", "sequence", "data"]
    assert (body["id"], body["type"], body["data"]) == (event.pk, "payment.completed", {"amount": "12.50"})
    assert body["sequence"] == event.sequence


def test_during_a_rotation_the_old_and_the_new_secret_both_verify(subscribe, receiver, name):
    endpoint = subscribe()
    rotation.rotate(endpoint, actor="a test", overlap=timedelta(hours=1))
    new, old = secrets_of(endpoint)

    event = publish("payment.completed", {}, tenant=name)
    eventually(lambda: is_delivered(event))

    (request,) = receiver.requests(f"/named/{endpoint.description}")
    assert len(request["webhook-signature"].split()) == 2
    for secret in (new, old):
        Webhook(secret).verify(request["body"], request["headers"])


def test_a_secret_whose_overlap_is_over_signs_no_more(subscribe, receiver, name):
    endpoint = subscribe()
    rotation.rotate(endpoint, actor="a test", overlap=timedelta(0))
    new, old = secrets_of(endpoint)

    event = publish("payment.completed", {}, tenant=name)
    eventually(lambda: is_delivered(event))

    (request,) = receiver.requests(f"/named/{endpoint.description}")
    Webhook(new).verify(request["body"], request["headers"])
    with pytest.raises(WebhookVerificationError):
        Webhook(old).verify(request["body"], request["headers"])


def test_only_endpoints_of_the_tenant_that_subscribed_to_the_type_get_it(subscribe, receiver, name):
    exact, prefix, other = (
        subscribe(event_types=[pattern]) for pattern in ("payment.completed", "payment.*", "refund.*")
    )
    stranger = subscribe(tenant=f"{name}-other")

    event = publish("payment.completed", {}, tenant=name)
    later = publish("refund.made", {}, tenant=name)
    eventually(lambda: is_delivered(event) and is_delivered(later))

    def got(endpoint) -> list[str]:
        return [request["webhook-id"] for request in receiver.requests(f"/named/{endpoint.description}")]

    assert got(exact) == got(prefix) == [event.pk]
    assert got(other) == [later.pk]
    assert got(stranger) == []


def test_an_event_published_twice_is_one_event_and_one_request(subscribe, receiver, name):
    endpoint = subscribe()

    first = publish("payment.completed", {"amount": 1}, tenant=name, id=f"order-1-{name}")
    again = publish("payment.completed", {"amount": 1}, tenant=name, id=f"order-1-{name}")
    publish_many([{"type": "payment.completed", "data": {"amount": 1}, "tenant": name, "id": f"order-1-{name}"}])
    fence = publish("payment.completed", {"amount": 2}, tenant=name)
    eventually(lambda: is_delivered(first) and is_delivered(fence))

    assert again.pk == first.pk
    assert again.body == first.body
    got = [request["webhook-id"] for request in receiver.requests(f"/named/{endpoint.description}")]
    assert sorted(got) == sorted([first.pk, fence.pk])


def test_other_content_under_a_known_id_is_refused_and_the_transaction_goes_on(subscribe, receiver, name):
    endpoint = subscribe()
    id = f"order-2-{name}"

    with transaction.atomic():
        first = publish("payment.completed", {"amount": 1}, tenant=name, id=id)
        with pytest.raises(IdempotencyConflict):
            publish("payment.completed", {"amount": 2}, tenant=name, id=id)
        second = publish("payment.completed", {"amount": 3}, tenant=name)
    eventually(lambda: is_delivered(first) and is_delivered(second))

    bodies = {request["body"] for request in receiver.requests(f"/named/{endpoint.description}")}
    assert bodies == {first.body, second.body}


def test_a_refused_event_leaves_the_transaction_usable(subscribe, name):
    subscribe()

    with transaction.atomic():
        for type, data in (
            ("payment..completed", {}),
            ("payment.completed", {"x": float("nan")}),
            ("a", ["x" * 300_000]),
        ):
            with pytest.raises(ValueError):
                publish(type, data, tenant=name)
        event = publish("payment.completed", {}, tenant=name)

    eventually(lambda: is_delivered(event))


def test_a_rolled_back_transaction_leaves_nothing_and_sends_nothing(subscribe, receiver, name):
    endpoint = subscribe()

    with transaction.atomic():
        undone = publish("payment.completed", {}, tenant=name)
        Event.objects.create(type="payment.completed", tenant=name, data={})  # type: ignore[misc]
        transaction.set_rollback(True)
    fence = publish("payment.completed", {}, tenant=name)
    eventually(lambda: is_delivered(fence))

    assert not Event.objects.filter(pk=undone.pk).exists()
    assert Delivery.objects.filter(endpoint=endpoint).count() == 1
    got = [request["webhook-id"] for request in receiver.requests(f"/named/{endpoint.description}")]
    assert got == [fence.pk]


def test_an_event_saved_by_the_orm_arrives_like_a_published_one(subscribe, receiver, name):
    endpoint = subscribe()

    saved = Event(type="payment.completed", tenant=name, data={"by": "save"})  # type: ignore[misc]
    saved.save()
    created = Event.objects.create(type="payment.completed", tenant=name, data={"by": "create"})  # type: ignore[misc]
    eventually(lambda: is_delivered(saved) and is_delivered(created))

    bodies = {request["body"] for request in receiver.requests(f"/named/{endpoint.description}")}
    assert bodies == {saved.body, created.body}


# Nobody collects static files for a test.
@pytest.mark.filterwarnings("ignore:No directory at:UserWarning")
def test_an_event_added_in_the_admin_arrives_like_a_published_one(subscribe, receiver, name):
    endpoint = subscribe()
    operator = Client()
    operator.force_login(get_user_model().objects.create_superuser(name))

    form = {"type": "payment.completed", "tenant": name, "data": '{"amount": 12.50}'}
    answer = operator.post(reverse("admin:deliveries_event_add"), form)

    assert answer.status_code == 302, answer.content.decode()
    event = Event.objects.get(tenant=name)
    eventually(lambda: is_delivered(event))
    assert [request["body"] for request in receiver.requests(f"/named/{endpoint.description}")] == [event.body]


def test_what_was_sent_can_be_looked_up(subscribe, receiver, name):
    endpoint = subscribe()

    event = publish("payment.completed", {}, tenant=name)
    eventually(lambda: is_delivered(event))

    attempt = Attempt.objects.get(delivery__event=event)
    assert (attempt.number, attempt.outcome, attempt.status_code) == (1, "delivered", 200)
    assert (attempt.host, attempt.address) == (receiver.base_url, "127.0.0.1")
    assert attempt.snippet == "ok"
    delivery = Delivery.objects.get(event=event)
    assert (delivery.endpoint_id, delivery.attempt_count) == (endpoint.pk, 1)
    assert delivery.finished_at is not None
