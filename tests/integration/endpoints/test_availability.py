"""An endpoint's states: only legal moves, each with its ledger row, and a bell when it may receive again."""

import threading

import pytest
from django.db import connection, transaction

from deliveries.models import Delivery
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from endpoints import availability
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint, State, StateChange
from endpoints.signals import state_changed
from tests.factories import make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LEGAL = {
    (availability.pause, State.ACTIVE): State.PAUSED,
    (availability.disable, State.ACTIVE): State.DISABLED,
    (availability.disable, State.PAUSED): State.DISABLED,
    (availability.enable, State.PAUSED): State.ACTIVE,
    (availability.enable, State.DISABLED): State.ACTIVE,
    (availability.archive, State.ACTIVE): State.ARCHIVED,
    (availability.archive, State.PAUSED): State.ARCHIVED,
    (availability.archive, State.DISABLED): State.ARCHIVED,
}
MOVES = (availability.pause, availability.disable, availability.enable, availability.archive)


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("state", State)
def test_exactly_the_legal_moves_are_made(move, state):
    endpoint = make_endpoint()
    Endpoint.objects.filter(pk=endpoint.pk).update(state=state)
    wanted = LEGAL.get((move, state))

    if wanted is None:
        with pytest.raises(TransitionRefused, match=f"is {state}"):
            move(endpoint, actor="anna", reason="because")
        assert not StateChange.objects.exists()
    else:
        move(endpoint, actor="anna", reason="because")
        assert endpoint.state == wanted
    assert Endpoint.objects.get(pk=endpoint.pk).state == (wanted or state)


def test_a_move_leaves_who_why_and_when_on_the_endpoint_and_in_the_ledger():
    endpoint = make_endpoint()

    change = availability.pause(endpoint.pk, actor="anna", reason="their maintenance window")

    endpoint.refresh_from_db()
    assert (endpoint.state_changed_by, endpoint.state_reason) == ("anna", "their maintenance window")
    assert StateChange.objects.get() == change
    assert (change.from_state, change.to_state, change.at) == ("active", "paused", endpoint.state_changed_at)


def test_an_unknown_endpoint_and_a_move_without_a_reason_are_refused():
    with pytest.raises(TransitionRefused, match="no endpoint 4711"):
        availability.pause(4711, actor="anna", reason="because")
    with pytest.raises(ValueError, match="reason"):
        availability.pause(make_endpoint(), actor="anna", reason=" ")


def test_enabling_rings_for_the_endpoint_once_it_is_committed(django_capture_on_commit_callbacks):
    endpoint = make_endpoint()
    availability.pause(endpoint, actor="anna", reason="maintenance")
    bell = f"holdfast:{{{endpoint.pk}}}:bell"

    with django_capture_on_commit_callbacks() as callbacks:
        availability.enable(endpoint, actor="anna")
    assert not redis_client().exists(bell)
    for callback in callbacks:
        callback()

    assert redis_client().exists(bell)


def test_a_paused_endpoint_still_gets_its_deliveries_recorded_and_an_archived_one_does_not():
    paused, archived = make_endpoint(), make_endpoint()
    availability.pause(paused, actor="anna", reason="maintenance")
    availability.archive(archived, actor="anna", reason="gone")

    make_event()

    assert [(row.endpoint_id, row.status) for row in Delivery.objects.all()] == [(paused.pk, Status.PENDING)]


def test_the_signal_is_part_of_the_transaction_so_a_listener_that_fails_undoes_the_move():
    endpoint = make_endpoint()

    def fail(**_kwargs):
        raise RuntimeError("no")

    state_changed.connect(fail)
    try:
        with pytest.raises(RuntimeError), transaction.atomic():
            availability.pause(endpoint, actor="anna", reason="maintenance")
    finally:
        state_changed.disconnect(fail)

    assert Endpoint.objects.get().state == State.ACTIVE
    assert not StateChange.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_pause_at_the_same_moment_one_is_told_that_it_is_paused_already():
    endpoint = make_endpoint()
    start, ends = threading.Barrier(2), []

    def person():
        try:
            start.wait()
            ends.append(availability.pause(endpoint.pk, actor="anna", reason="maintenance").to_state)
        except TransitionRefused:
            ends.append("refused")
        finally:
            connection.close()

    people = [threading.Thread(target=person) for _ in range(2)]
    for one in people:
        one.start()
    for one in people:
        one.join()

    assert sorted(ends) == ["paused", "refused"]
    assert StateChange.objects.count() == 1
