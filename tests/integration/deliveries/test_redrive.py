"""Redrive and discard: dead letters go back to work, or are let go, once, and somebody answers for it."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from deliveries import dispatch, operations, redrive
from deliveries.errors import NoteRequired, RedriveRefused
from deliveries.models import DeadLetter, Delivery, Operation, Resolution
from deliveries.outcomes import Kind
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from endpoints import availability
from endpoints.models import RetryPolicy
from tests.factories import finish, make_dead_letter, make_endpoint, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_a_redriven_delivery_gets_a_fresh_budget_and_deadline_and_its_numbers_go_on():
    policy = RetryPolicy.objects.create(name="hour", deadline_seconds=3600)
    endpoint = make_endpoint(retry_policy=policy)
    letter = make_dead_letter(endpoint)

    operation = redrive.redrive([letter.pk], actor="anna", note="fixed")

    delivery = letter.delivery
    delivery.refresh_from_db()
    letter.refresh_from_db()
    assert (delivery.status, delivery.budget_offset, delivery.finished_at) == (Status.PENDING, 1, None)
    assert abs(delivery.deadline_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert (letter.resolution, letter.operation) == (Resolution.REDRIVEN, operation)
    assert (operation.actor, operation.note, operation.moved, operation.refused) == ("anna", "fixed", 1, 0)
    claimed = take(endpoint, delivery.event)
    assert (claimed.number, claimed.budget_number) == (2, 1)


def test_the_bell_rings_when_the_redrive_commits(django_capture_on_commit_callbacks):
    letter = make_dead_letter()

    with django_capture_on_commit_callbacks(execute=True):
        redrive.redrive([letter.pk], actor="anna")

    assert redis_client().exists(f"holdfast:{{{letter.endpoint_id}}}:bell")


def test_a_redrive_that_fails_again_leaves_a_second_dead_letter():
    endpoint = make_endpoint()
    letter = make_dead_letter(endpoint)
    redrive.redrive([letter.pk], actor="anna")

    finish([take(endpoint, letter.delivery.event)], kind=Kind.REJECTED)

    again = DeadLetter.objects.get(delivery=letter.delivery, resolution=Resolution.OPEN)
    assert [attempt["number"] for attempt in again.attempts] == [1, 2]


def test_a_single_dead_letter_that_was_redriven_already_is_refused_in_words_and_nothing_is_recorded():
    letter = make_dead_letter()
    redrive.redrive([letter.pk], actor="anna")

    with pytest.raises(RedriveRefused, match="already redriven"):
        redrive.redrive(DeadLetter.objects.filter(pk=letter.pk), actor="ben")

    assert Operation.objects.count() == 1


def test_in_a_selection_what_is_not_open_is_counted_and_named():
    open_letter, redriven, discarded, archived = (make_dead_letter(make_endpoint(tenant=str(n))) for n in range(4))
    redrive.redrive([redriven.pk], actor="anna")
    redrive.discard([discarded.pk], actor="anna", note="test data")
    availability.archive(archived.endpoint, actor="anna", reason="gone")

    operation = redrive.redrive(
        [open_letter.pk, redriven.pk, discarded.pk, archived.pk, 987654], actor="ben", selection="Chosen by hand."
    )

    assert (operation.moved, operation.refused) == (1, 4)
    for words in ("1 already redriven", "1 already discarded", "1 whose endpoint is archived", "1 that does not exist"):
        assert words in operation.selection
    archived.refresh_from_db()
    assert archived.resolution == Resolution.OPEN


def test_a_redrive_onto_a_paused_endpoint_is_done_and_said():
    letter = make_dead_letter()
    availability.pause(letter.endpoint, actor="anna", reason="maintenance")

    operation = redrive.redrive([letter.pk], actor="anna")

    assert operation.moved == 1
    assert "1 wait until their paused or disabled endpoint is enabled" in operation.selection


def test_a_discarded_delivery_stays_dead_and_its_note_is_kept():
    letter = make_dead_letter()

    operation = redrive.discard([letter.pk], actor="anna", note="duplicate of an order that was cancelled")

    letter.refresh_from_db()
    assert letter.resolution == Resolution.DISCARDED
    assert letter.delivery.status == Status.DEAD
    assert Operation.objects.get(pk=operation.pk).note == "duplicate of an order that was cancelled"
    with pytest.raises(RedriveRefused, match="already discarded"):
        redrive.redrive([letter.pk], actor="ben")


def test_a_discard_without_a_note_is_refused():
    letter = make_dead_letter()

    with pytest.raises(NoteRequired):
        redrive.discard([letter.pk], actor="anna", note="  ")

    letter.refresh_from_db()
    assert letter.resolution == Resolution.OPEN


def test_the_preview_counts_what_the_redrive_then_does_and_changes_nothing():
    letters = [make_dead_letter(make_endpoint(tenant=str(n))) for n in range(3)]
    availability.disable(letters[0].endpoint, actor="rule", reason="failing")
    availability.archive(letters[1].endpoint, actor="anna", reason="gone")

    seen = redrive.preview_redrive(DeadLetter.objects.all())

    assert (seen.ready, seen.held, seen.refusals) == (2, 1, {"whose endpoint is archived": 1})
    assert not Operation.objects.exists()
    assert redrive.redrive(DeadLetter.objects.all(), actor="anna").moved == 2


def test_large_selections_go_page_by_page(monkeypatch):
    monkeypatch.setattr(operations, "pages", lambda ids: ([id] for id in ids))
    for number in range(3):
        make_dead_letter(make_endpoint(tenant=str(number)))

    operation = redrive.redrive(DeadLetter.objects.all(), actor="anna")

    operation.refresh_from_db()
    assert operation.moved == 3
    assert set(Delivery.objects.values_list("status", flat=True)) == {Status.PENDING}


@pytest.mark.django_db(transaction=True)
def test_two_people_who_redrive_at_the_same_moment_send_once(monkeypatch):
    monkeypatch.setattr(dispatch, "wake", lambda ids: len(ids))
    letters = [make_dead_letter(make_endpoint(tenant=str(n))) for n in range(4)]
    ids = [letter.pk for letter in letters]
    start, moved = threading.Barrier(2), []

    def person():
        try:
            start.wait()
            moved.append(redrive.redrive(ids, actor="anna").moved)
        finally:
            connection.close()

    people = [threading.Thread(target=person) for _ in range(2)]
    for one in people:
        one.start()
    for one in people:
        one.join()

    assert sum(moved) == 4
    assert set(DeadLetter.objects.values_list("resolution", flat=True)) == {Resolution.REDRIVEN}
