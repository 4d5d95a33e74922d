"""Redrive and discard of the inbox: who won is certain, and everything leaves its mark."""

import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from inbox import Logic
from inbox.errors import NoteRequired, RedriveRefused
from inbox.models import DeadLetter, Operation, ReceivedEvent
from inbox.redrive import discard, preview, redrive
from tests.integration.inbox.conftest import make_sender

pytestmark = pytest.mark.django_db


@pytest.fixture
def mended():
    """Put something in, and the handler works from then on."""
    return []


@pytest.fixture
def sender(new_sender, handles, mended):
    made = new_sender()

    @handles(made)
    def fail_until_mended(event):
        if not mended:
            raise Logic("Broken.")

    return made


def bury(sender, work, *ids):
    for id in ids:
        sender.post(id=id)
    work(sender)
    return list(DeadLetter.objects.filter(event__event_id__in=ids).order_by("pk"))


def test_a_redriven_event_is_processed_with_a_fresh_budget_and_its_numbers_go_on(sender, work, mended):
    (letter,) = bury(sender, work, "msg_1")

    mended.append(True)
    operation = redrive([letter.pk], actor="nora", note="Mended.")
    work(sender)

    event = sender.event("msg_1")
    letter.refresh_from_db()
    assert (event.status, event.attempt_count, event.budget_offset) == ("processed", 2, 1)
    assert (letter.resolution, letter.operation, operation.moved, operation.actor) == ("redriven", operation, 1, "nora")


def test_a_redrive_years_later_judges_no_age(sender, work, mended):
    (letter,) = bury(sender, work, "msg_1")
    ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(days=1000))

    mended.append(True)
    redrive([letter.pk], actor="nora")
    work(sender)

    assert sender.event("msg_1").status == "processed"


def test_a_redriven_event_that_fails_again_has_a_second_dead_letter(sender, work):
    (letter,) = bury(sender, work, "msg_1")

    redrive([letter.pk], actor="nora")
    work(sender)

    assert list(DeadLetter.objects.order_by("pk").values_list("resolution", flat=True)) == ["redriven", "open"]
    with pytest.raises(RedriveRefused):
        redrive([letter.pk], actor="nora")
    assert sender.event("msg_1").status == "dead"


def test_a_discard_needs_a_note_and_leaves_the_event_dead(sender, work):
    (letter,) = bury(sender, work, "msg_1")

    with pytest.raises(NoteRequired):
        discard([letter.pk], actor="nora", note=" ")
    discard([letter.pk], actor="nora", note="A test of theirs.")

    letter.refresh_from_db()
    assert (letter.resolution, sender.event("msg_1").status) == ("discarded", "dead")


def test_what_is_resolved_already_is_left_alone_and_said_in_words(sender, work):
    one, two = bury(sender, work, "msg_1", "msg_2")
    redrive([one.pk], actor="nora")

    assert preview([one.pk, two.pk, 0]) == (1, {"already redriven": 1, "that does not exist": 1})
    operation = discard([one.pk, two.pk, 0], actor="nora", note="Not needed.")

    assert (operation.moved, operation.refused) == (1, 2)
    assert "1 already redriven" in operation.selection


def test_a_single_one_that_cannot_move_is_refused_and_nothing_is_recorded(sender, work):
    (letter,) = bury(sender, work, "msg_1")
    redrive([letter.pk], actor="nora")
    operations = Operation.objects.count()

    with pytest.raises(RedriveRefused, match="already redriven"):
        redrive([letter.pk], actor="otto")

    assert Operation.objects.count() == operations


def test_many_are_redriven_at_a_pace_and_the_operation_says_so(sender, work, mended, monkeypatch):
    monkeypatch.setattr("inbox.redrive.PAGE_ROWS", 2)
    letters = bury(sender, work, *(f"msg_{number}" for number in range(5)))
    began = timezone.now()

    operation = redrive([letter.pk for letter in letters], actor="nora", rate_per_second=2)

    events = ReceivedEvent.objects.order_by("pk").values_list("next_attempt_at", flat=True)
    waits = [(at - began).total_seconds() for at in events]
    assert [round(wait - waits[0], 1) for wait in waits] == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert "At 2 a second." in operation.selection
    mended.append(True)
    assert work(sender) == 1


def test_a_rate_of_nothing_is_refused(sender):
    with pytest.raises(ValueError, match="above 0"):
        redrive([1], actor="nora", rate_per_second=0)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_press_at_once_move_it_once(empty_redis, handles, work):
    sender = make_sender()

    @handles(sender)
    def fail(event):
        raise Logic("Broken.")

    letters = bury(sender, work, "msg_1", "msg_2", "msg_3")
    start, moved = threading.Barrier(4), []

    def press():
        start.wait()
        moved.append(redrive([letter.pk for letter in letters], actor="nora").moved)
        connection.close()

    threads = [threading.Thread(target=press) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(moved) == 3
