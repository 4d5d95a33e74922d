"""Publishing by hand, and looking at what was published."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from deliveries.models import Delivery, Event, Operation
from deliveries.redis_client import redis_client
from tests.factories import make_delivered, make_endpoint, make_event
from tests.integration.admin.pages import messages_of, page, run_action

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

ADD = "admin:deliveries_event_add"


def test_an_event_added_by_hand_goes_to_its_endpoints(operator: Client, django_capture_on_commit_callbacks):
    endpoint, _other = make_endpoint(tenant="acme"), make_endpoint(tenant="other")

    with django_capture_on_commit_callbacks(execute=True):
        operator.post(reverse(ADD), {"type": "payment.completed", "tenant": "acme", "data": '{"n": 1.50}'})

    event = Event.objects.get()
    assert json.loads(event.body)["data"] == {"n": 1.5}
    assert [delivery.endpoint for delivery in Delivery.objects.all()] == [endpoint]
    assert redis_client().exists(f"holdfast:{{{endpoint.pk}}}:bell")


@pytest.mark.parametrize(
    ("field", "typed", "words"),
    [
        ("type", "", "required"),
        ("type", "payment..completed", ""),
        ("type", "payment.*", ""),
        ("type", "a" * 129, "128"),
        ("data", "", "required"),
        ("data", "{'n': 1}", "line 1, column 2"),
        ("data", '"text"', "a dict or a list"),
        ("data", '{"n": NaN}', "NaN"),
        ("data", '{"n": 1e999}', "n"),
        ("data", '{"n": 0.12345678901234567890123}', "as text"),
        ("data", '{"n": 1, "n": 2}', "given twice"),
        ("data", '{"n": "\\ud800"}', "data.n"),
        ("data", "[" * 101 + "]" * 101, "levels"),
        ("data", "[" * 100_000, "deep"),
        ("data", '["' + "x" * 262_144 + '"]', "262,144"),
        ("data", "[" + "9" * 5_000 + "]", ""),
    ],
)
def test_a_broken_rule_is_said_beside_its_field(operator: Client, field: str, typed: str, words: str):
    answer = operator.post(reverse(ADD), {"type": "a.b", "tenant": "", "data": "{}", field: typed})

    errors = answer.context["adminform"].form.errors
    assert list(errors) == [field]
    assert words in str(errors[field].as_data())
    assert not Event.objects.exists()


def test_all_broken_rules_are_said_at_once(operator: Client):
    answer = operator.post(reverse(ADD), {"type": "a..b", "tenant": "", "data": "{"})

    assert set(answer.context["adminform"].form.errors) == {"type", "data"}


def test_a_body_is_shown_as_it_is_stored(operator: Client):
    event = make_event(data={"big": 12345678901234567890123, "small": 1e-7, "text": "<b>é</b>"})
    stored = event.body.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")

    text = page(operator, event)

    assert stored in text
    assert "&quot;big&quot;: 12345678901234567890123," in text
    assert "&quot;small&quot;: 1e-07," in text


def test_the_page_lists_the_deliveries_and_says_when_there_are_none(operator: Client):
    lonely = make_event(tenant="nobody")
    delivery = make_delivered()

    assert "no endpoint subscribed" in page(operator, lonely)
    assert reverse("admin:deliveries_delivery_change", args=[delivery.pk]) in page(operator, delivery.event)


def test_replaying_an_event_sends_it_again(signed_in):
    delivery = make_delivered()
    client = signed_in("deliveries.replay_event", name="vic")

    asked = run_action(client, "replay", delivery.event, confirmed=False)
    assert "the same bytes" in asked.content.decode()
    answer = run_action(client, "replay", delivery.event, note="lost on their side")

    operation = Operation.objects.get()
    assert (operation.kind, operation.actor, operation.note, operation.moved) == (
        "replay",
        "vic",
        "lost on their side",
        1,
    )
    assert messages_of(answer)[0].startswith("1 delivery goes out again")


def test_replaying_a_delivery_needs_its_permission(signed_in):
    delivery = make_delivered()

    run_action(signed_in(), "replay", delivery)
    assert not Operation.objects.exists()

    run_action(signed_in("deliveries.replay_delivery"), "replay", delivery)
    assert Operation.objects.get().moved == 1
