"""Deliveries that can no longer be made: past their deadline, or waiting for an endpoint that was archived."""

from datetime import timedelta

import pytest

from deliveries.models import DeadLetter
from deliveries.statuses import Status
from deliveries.transitions.expire import bury_archived, expire
from endpoints import availability
from tests.factories import backdate, lease, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LATE = timedelta(minutes=1)


def pending(endpoint):
    return make_event(tenant=endpoint.tenant).deliveries.get(endpoint=endpoint)


def test_a_delivery_past_its_deadline_becomes_a_dead_letter_of_class_expired():
    delivery = pending(make_endpoint())
    backdate(delivery, deadline_at=LATE)

    [letter_id] = expire(10)

    letter = DeadLetter.objects.get(pk=letter_id)
    delivery.refresh_from_db()
    assert delivery.status == Status.DEAD
    assert delivery.finished_at is not None
    assert (letter.failure_class, letter.body) == ("expired", delivery.event.body)
    assert "deadline" in letter.reason
    assert "No attempt was made" in letter.reason


def test_the_reason_says_that_the_endpoint_was_paused():
    endpoint = make_endpoint()
    delivery = pending(endpoint)
    availability.pause(endpoint, actor="ops", reason="maintenance")
    backdate(delivery, deadline_at=LATE)

    [letter_id] = expire(10)

    assert "The endpoint was paused" in DeadLetter.objects.get(pk=letter_id).reason


def test_a_deadline_ahead_and_a_delivery_in_flight_are_left_alone():
    endpoint = make_endpoint()
    pending(endpoint)
    in_flight = pending(endpoint)
    backdate(in_flight, deadline_at=LATE)
    lease(in_flight, expires_in=timedelta(seconds=30))

    assert expire(10) == []


def test_what_waits_for_an_archived_endpoint_becomes_dead_letters_of_class_archived():
    archived, active = make_endpoint(), make_endpoint()
    event = make_event()
    availability.archive(archived, actor="ops", reason="customer left")

    [letter_id] = bury_archived(10)

    letter = DeadLetter.objects.get(pk=letter_id)
    assert (letter.failure_class, letter.endpoint_id) == ("archived", archived.pk)
    assert event.deliveries.get(endpoint=active).status == Status.PENDING


def test_pages_hold_no_more_than_asked():
    archived, other = make_endpoint(), make_endpoint()
    for _ in range(3):
        make_event()
    for endpoint in (archived, other):
        availability.archive(endpoint, actor="ops", reason="customer left")

    assert [len(bury_archived(4)) for _ in range(3)] == [4, 2, 0]
