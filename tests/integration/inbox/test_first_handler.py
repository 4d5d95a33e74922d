"""The first handler of docs/receiving.md, and its example for order, run as they stand there."""

import json
import time
from typing import Any

import pytest
import stripe
from django.contrib.auth.models import Group, User
from django.test import Client

from inbox import handlers
from inbox.models import ReceivedEvent
from inbox.process import process
from tests.examples import example

pytestmark = pytest.mark.django_db


def run(beginning: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(example("docs/receiving.md", "python", beginning), names)  # noqa: S102 - it is our own documentation
    return names


@pytest.fixture
def shop(monkeypatch, empty_redis):
    monkeypatch.setattr(handlers, "_registry", {})
    return run("from inbox.models import Source")["shop"]


def post(shop, id, type, **content):
    event = {"id": id, "object": "event", "type": type, "created": content.pop("created", 1), "data": content}
    body, now = json.dumps(event), int(time.time())
    secret = shop.secrets.get().secret
    signature = stripe.WebhookSignature._compute_signature(f"{now}.{body}", secret)
    headers = {"Stripe-Signature": f"t={now},v1={signature}"}
    address = f"/inbox/{shop.slug}/"
    return Client().post(address, data=body, content_type="application/json", headers=headers).status_code


def test_the_first_handler_gets_what_its_provider_sends(shop):
    run("from django.contrib.auth.models import Group")

    assert post(shop, "evt_1", "customer.created", object={"id": "cus_1"}) == 200
    process(shop.pk)

    assert Group.objects.get().name == "cus_1"


def test_the_example_for_order_lets_the_newest_win(shop):
    run("from django.contrib.auth.models import User")

    post(shop, "evt_2", "account.updated", created=20, object={"id": "acct_1", "email": "new@example.com"})
    post(shop, "evt_1", "account.updated", created=10, object={"id": "acct_1", "email": "old@example.com"})
    process(shop.pk)

    assert User.objects.get(username="acct_1").email == "new@example.com"
    assert dict(ReceivedEvent.objects.values_list("event_id", "status")) == {"evt_2": "processed", "evt_1": "stale"}
