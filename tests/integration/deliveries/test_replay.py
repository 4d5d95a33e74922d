"""Replay: what was delivered goes out again, and what an endpoint missed goes out for the first time."""

import pytest

from deliveries import replay
from deliveries.models import Delivery, Event, Operation
from deliveries.outcomes import Kind
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from endpoints import availability
from tests.factories import finish, make_dead_letter, make_delivered, make_endpoint, make_event, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_a_delivered_delivery_goes_out_again_under_the_same_event_with_a_fresh_budget():
    endpoint = make_endpoint()
    delivery = make_delivered(endpoint)

    operation = replay.replay([delivery.pk], actor="anna", note="their database was restored")

    delivery.refresh_from_db()
    assert (delivery.status, delivery.budget_offset, delivery.finished_at) == (Status.PENDING, 1, None)
    assert (operation.kind, operation.moved) == (Operation.Kind.REPLAY, 1)
    claimed = take(endpoint, delivery.event)
    assert (claimed.body.decode(), claimed.number, claimed.budget_number) == (delivery.event.body, 2, 1)


def test_what_is_on_its_way_or_dead_is_left_alone_and_named():
    pending = make_event().deliveries
    make_endpoint(tenant="a")
    waiting = make_event(tenant="a").deliveries.get()
    dead = make_dead_letter(make_endpoint(tenant="b")).delivery
    assert not pending.exists()

    operation = replay.replay(Delivery.objects.all(), actor="anna")

    assert (operation.moved, operation.refused) == (0, 2)
    assert "1 on their way already" in operation.selection
    assert "1 dead, which a redrive brings back" in operation.selection
    assert Delivery.objects.get(pk=waiting.pk).attempt_count == 0
    assert Delivery.objects.get(pk=dead.pk).status == Status.DEAD


def test_an_archived_endpoint_gets_nothing_again():
    delivery = make_delivered()
    availability.archive(delivery.endpoint, actor="anna", reason="gone")

    operation = replay.replay([delivery.pk], actor="anna")

    assert (operation.moved, operation.refused) == (0, 1)
    assert "whose endpoint is archived" in operation.selection


def test_an_endpoint_that_came_later_gets_its_first_delivery(django_capture_on_commit_callbacks):
    event = make_event("payment.completed")
    late = make_endpoint(event_types=["payment.*"])
    make_endpoint(event_types=["invoice.*"])
    make_endpoint(tenant="other")

    with django_capture_on_commit_callbacks(execute=True):
        operation = replay.replay_events([event.pk], actor="anna")

    delivery = event.deliveries.get()
    assert (delivery.endpoint, delivery.status, operation.moved) == (late, Status.PENDING, 1)
    assert redis_client().exists(f"holdfast:{{{late.pk}}}:bell")


def test_replaying_missed_events_leaves_delivered_ones_alone():
    delivered = make_delivered(make_endpoint())
    late = make_endpoint()

    operation = replay.replay_events(Event.objects.all(), actor="anna", missed_only=True)

    delivered.refresh_from_db()
    assert (delivered.status, operation.moved, operation.refused) == (Status.DELIVERED, 1, 0)
    assert Delivery.objects.get(endpoint=late).event == delivered.event
    assert replay.replay_events(Event.objects.all(), actor="anna", missed_only=True).moved == 0


def test_a_replay_for_one_endpoint_reaches_no_other():
    one, other = make_endpoint(), make_endpoint()
    event = make_event()
    for endpoint in (one, other):
        finish([take(endpoint, event)], kind=Kind.DELIVERED)

    replay.replay_events([event.pk], actor="anna", endpoint_ids=[one.pk])

    assert event.deliveries.get(endpoint=one).status == Status.PENDING
    assert event.deliveries.get(endpoint=other).status == Status.DELIVERED


def test_the_preview_counts_what_the_replay_then_does():
    make_delivered(make_endpoint())
    paused = make_endpoint()
    availability.pause(paused, actor="anna", reason="maintenance")

    seen = replay.preview_replay_events(Event.objects.all())

    assert (seen.ready, seen.missed, seen.held) == (1, 1, 1)
    assert Delivery.objects.filter(status=Status.PENDING).count() == 0
    assert replay.replay_events(Event.objects.all(), actor="anna").moved == 2
