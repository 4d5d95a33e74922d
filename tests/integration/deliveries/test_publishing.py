"""Publishing against the real database: what is recorded, for whom, in how many round trips, and what is refused."""

import json
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.core.serializers import serialize
from django.db import transaction

from deliveries import dispatch, publish, publish_many
from deliveries.errors import IdempotencyConflict, InvalidEvent, InvalidEventType, InvalidPayload, PayloadTooLarge
from deliveries.models import Delivery, Event
from deliveries.redis_client import redis_client
from endpoints import availability
from endpoints.models import RetryPolicy
from tests.factories import make_endpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def given(number: int, **fields) -> dict:
    return {"type": "payment.completed", "data": {"number": number}, **fields}


@pytest.mark.parametrize(
    ("pattern", "is_wanted"),
    [
        ("*", True),
        ("payment.*", True),
        ("payment.card.*", True),
        ("payment.card.completed", True),
        ("payment", False),
        ("payment.card", False),
        ("payment.cash.*", False),
        ("refund.*", False),
    ],
)
def test_an_endpoint_gets_what_its_pattern_names(pattern, is_wanted):
    endpoint = make_endpoint(event_types=[pattern])

    event = publish("payment.card.completed", {})

    assert list(event.deliveries.values_list("endpoint", flat=True)) == [endpoint.pk] * is_wanted


def test_two_patterns_that_match_make_one_delivery():
    make_endpoint(event_types=["*", "payment.*"])

    assert publish("payment.completed", {}).deliveries.count() == 1


def test_tenants_do_not_see_each_others_events():
    mine, theirs = make_endpoint(tenant="mine"), make_endpoint(tenant="theirs")
    nobodys = make_endpoint()

    publish("payment.completed", {}, tenant="mine")

    assert [endpoint.deliveries.count() for endpoint in (mine, theirs, nobodys)] == [1, 0, 0]


def test_paused_and_disabled_endpoints_are_recorded_for_and_archived_ones_are_not():
    held, broken, retired = make_endpoint(), make_endpoint(), make_endpoint()
    availability.pause(held, actor="a test", reason="maintenance")
    availability.disable(broken, actor="a test", reason="broken")
    availability.archive(retired, actor="a test", reason="over")

    publish("payment.completed", {})

    assert [endpoint.deliveries.count() for endpoint in (held, broken, retired)] == [1, 1, 0]


def test_a_delivery_gets_the_deadline_of_its_endpoints_policy():
    policy = RetryPolicy.objects.create(name="an hour", deadline_seconds=3600)
    endpoint = make_endpoint(retry_policy=policy)

    delivery = publish("payment.completed", {}).deliveries.get(endpoint=endpoint)

    assert (delivery.deadline_at - delivery.created_at).total_seconds() == 3600
    assert delivery.next_attempt_at == delivery.created_at


def test_saving_an_event_again_is_refused_because_its_body_may_be_on_its_way():
    event = publish("payment.completed", {"amount": 1})

    with pytest.raises(TypeError, match="immutable"):
        event.save()


def test_a_fixture_brings_its_own_deliveries_or_none(tmp_path):
    make_endpoint()
    event = publish("payment.completed", {})
    file = tmp_path / "events.json"
    file.write_text(serialize("json", [event]))
    Delivery.objects.all().delete()
    Event.objects.all().delete()

    call_command("loaddata", str(file), verbosity=0)

    assert Event.objects.get(pk=event.pk).body == event.body
    assert not Delivery.objects.exists()


class TestTheSameIdAgain:
    def test_the_stored_event_is_returned(self):
        first = publish("payment.completed", {"a": 1, "b": 2}, id="order-1")

        # The same content is the same whatever the order of its keys.
        again = publish("payment.completed", {"b": 2, "a": 1}, id="order-1")

        assert (again.pk, again.body, again.sequence) == (first.pk, first.body, first.sequence)
        assert Event.objects.count() == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"type": "payment.failed"},
            {"data": {"number": 2}},
            {"tenant": "other"},
            {"occurred_at": datetime(2020, 1, 1, tzinfo=UTC)},
        ],
    )
    @pytest.mark.parametrize("verb", [lambda fields: publish(**fields), lambda fields: publish_many([fields])])
    def test_other_content_is_a_conflict_and_the_transaction_goes_on(self, other, verb):
        publish(**given(1, id="order-1"))

        with pytest.raises(IdempotencyConflict):
            verb(given(1, id="order-1") | other)

        assert Event.objects.get().data == {"number": 1}

    def test_within_one_call_equal_ids_are_one_event(self):
        make_endpoint()

        first, again, other = publish_many([given(1, id="a"), given(1, id="a"), given(2, id="b")])

        assert first.pk == again.pk != other.pk
        assert Event.objects.count() == Delivery.objects.count() == 2

    def test_within_one_call_one_id_with_two_contents_is_a_conflict_and_records_nothing(self):
        with pytest.raises(IdempotencyConflict):
            publish_many([given(1, id="a"), given(2, id="a")])

        assert not Event.objects.exists()


class TestMany:
    def test_round_trips_do_not_grow_with_the_number_of_events_or_endpoints(self, django_assert_num_queries):
        for _ in range(3):
            make_endpoint()

        # Savepoint, then for each thousand: sequence numbers, events, deliveries; release.
        for count in (1, 1000):
            with django_assert_num_queries(2 + 3):
                publish_many(given(number) for number in range(count))
        with django_assert_num_queries(2 + 2 * 3):
            publish_many(given(number) for number in range(1001))

        assert Delivery.objects.count() == 3 * 2002

    def test_stored_events_come_back_in_order_as_publish_would_have_made_them(self):
        events = publish_many([given(number, tenant="acme", id=f"order-{number}") for number in range(20)])

        assert [event.pk for event in events] == [f"order-{number}" for number in range(20)]
        assert [event.sequence for event in events] == sorted({event.sequence for event in events})
        for event in events:
            stored = Event.objects.get(pk=event.pk)
            assert json.loads(stored.body)["sequence"] == stored.sequence == event.sequence
            assert (stored.body, stored.fingerprint, stored.tenant) == (event.body, event.fingerprint, "acme")

    def test_deliveries_are_numbered_in_the_order_of_the_events(self):
        make_endpoint()

        events = publish_many(given(number) for number in range(50))

        assert list(Delivery.objects.order_by("pk").values_list("event", flat=True)) == [event.pk for event in events]

    @pytest.mark.parametrize(
        ("bad", "error", "field"),
        [
            ({"data": {"price": float("inf")}}, InvalidPayload, "events[3].data.price"),
            ({"data": {"text": "\ud83d"}}, InvalidPayload, "events[3].data.text"),
            ({"data": "text"}, InvalidPayload, "events[3].data"),
            ({"data": {"x": "x" * 300_000}}, PayloadTooLarge, "events[3].data"),
            ({"type": "payment..completed"}, InvalidEventType, "events[3].type"),
            ({"tenant": "x" * 129}, InvalidPayload, "events[3].tenant"),
            ({"id": "a b"}, InvalidPayload, "events[3].id"),
            ({"occurred_at": datetime(2026, 1, 1)}, InvalidPayload, "events[3].occurred_at"),  # noqa: DTZ001 - that is the fault
            ({"colour": "red"}, InvalidEvent, "events[3]"),
        ],
    )
    def test_one_that_is_refused_names_its_place_and_nothing_is_recorded(self, bad, error, field):
        with pytest.raises(error) as refusal:
            publish_many([*map(given, range(3)), given(3) | bad])

        assert refusal.value.field == field
        assert isinstance(refusal.value, ValueError)
        assert not Event.objects.exists()

    def test_places_count_across_statements(self):
        with pytest.raises(InvalidEvent) as refusal:
            publish_many([*map(given, range(1200)), {"type": "payment.completed"}])

        assert (refusal.value.field, refusal.value.rule) == ("events[1200]", "missing-key")
        assert not Event.objects.exists()


@pytest.mark.parametrize("text", ["a\u0000b", 'line\u2028"quoted"\\', "\\u0000", "😱 Привет", "\U0010ffff"])
def test_odd_text_is_stored_to_the_letter_by_both_verbs(text):
    one = publish("payment.completed", {"x": text})
    (many,) = publish_many([{"type": "payment.completed", "data": {"x": text}}])

    for event in (one, many):
        assert json.loads(Event.objects.get(pk=event.pk).body)["data"] == {"x": text}


def test_endpoints_are_rung_once_when_the_transaction_commits(django_capture_on_commit_callbacks):
    endpoint = make_endpoint()
    bell = f"holdfast:{{{endpoint.pk}}}:bell"

    with django_capture_on_commit_callbacks(execute=True):
        for number in range(5):
            publish(**given(number))
        assert not redis_client().exists(bell)

    assert redis_client().exists(bell)
    assert redis_client().llen("deliveries") == 1


@pytest.mark.django_db(transaction=True)
def test_a_wake_up_that_breaks_does_not_silence_what_the_caller_does_on_commit(monkeypatch):
    make_endpoint()
    said = []

    def broken(_endpoint_ids) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(dispatch, "wake", broken)
    with transaction.atomic():
        event = publish("payment.completed", {})
        transaction.on_commit(lambda: said.append("done"))

    assert said == ["done"]
    assert event.deliveries.count() == 1
