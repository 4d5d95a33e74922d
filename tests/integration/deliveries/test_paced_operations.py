"""Redrives and replays at a chosen rate: due times in the rows, progress, and a stop that calls back the rest."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from deliveries import operations, order, redrive, replay
from deliveries.errors import OperationFinished
from deliveries.models import Delivery, Operation, Resolution
from deliveries.outcomes import Kind
from deliveries.pacing import describe
from deliveries.statuses import Status
from tests.factories import finish, make_dead_letter, make_endpoint, make_event, take

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def dead_letters(count, endpoint=None):
    endpoint = endpoint or make_endpoint()
    return [make_dead_letter(endpoint) for _ in range(count)]


def test_a_redrive_at_a_rate_makes_deliveries_due_one_after_the_other(monkeypatch):
    monkeypatch.setattr(operations, "PAGE_ROWS", 2)
    letters = dead_letters(5)
    before = timezone.now()

    redrive.redrive([letter.pk for letter in letters], actor="anna", rate_per_second=0.5)

    due = [Delivery.objects.get(pk=letter.delivery_id).next_attempt_at for letter in letters]
    # Two pages of two and one of one: the pace goes on across the pages, a transaction's clock apart.
    assert all(abs((at - before).total_seconds() - 2 * position) < 1.5 for position, at in enumerate(due)), due
    assert due == sorted(due)


def test_a_rate_that_is_none_is_refused_and_nothing_moves():
    letters = dead_letters(2)

    with pytest.raises(ValueError, match="rate"):
        redrive.redrive([letter.pk for letter in letters], actor="anna", rate_per_second=0)

    assert Delivery.objects.filter(status=Status.DEAD).count() == 2
    assert not Operation.objects.exists()


def test_progress_counts_what_was_not_tried_yet():
    endpoint = make_endpoint()
    letters = dead_letters(3, endpoint)
    operation = redrive.redrive([letter.pk for letter in letters], actor="anna", rate_per_second=1)

    finish([take(endpoint, letters[0].delivery.event)], kind=Kind.DELIVERED)

    progress = operations.progress(operation)
    assert (progress.moved, progress.waiting) == (3, 2)
    assert 0 < progress.seconds_left <= 2


def test_a_stop_reopens_the_dead_letters_that_were_not_sent_and_leaves_the_tried_ones():
    endpoint = make_endpoint()
    letters = dead_letters(3, endpoint)
    operation = redrive.redrive([letter.pk for letter in letters], actor="anna", rate_per_second=1)
    finish([take(endpoint, letters[0].delivery.event)], kind=Kind.DELIVERED)

    stopped = operations.stop(operation, actor="berta")

    assert (stopped.withdrawn, stopped.stopped_by) == (2, "berta")
    assert stopped.stopped_at is not None
    for letter in letters:
        letter.refresh_from_db()
    assert [letter.resolution for letter in letters] == [Resolution.REDRIVEN, Resolution.OPEN, Resolution.OPEN]
    statuses = [Delivery.objects.get(pk=letter.delivery_id).status for letter in letters]
    assert statuses == [Status.DELIVERED, Status.DEAD, Status.DEAD]


def test_a_stopped_dead_letter_can_be_redriven_again():
    letters = dead_letters(2)
    ids = [letter.pk for letter in letters]
    operations.stop(redrive.redrive(ids, actor="anna", rate_per_second=1), actor="anna")

    assert redrive.redrive(ids, actor="anna").moved == 2


def test_a_stopped_replay_leaves_deliveries_delivered_and_takes_back_what_was_missed():
    endpoint = make_endpoint()
    event = make_event()
    finish([take(endpoint, event)], kind=Kind.DELIVERED)
    newcomer = make_endpoint()
    operation = replay.replay_events([event.pk], actor="anna", rate_per_second=0.1)
    assert operation.moved == 2

    operations.stop(operation, actor="anna")

    assert Delivery.objects.get(endpoint=endpoint).status == Status.DELIVERED
    assert not Delivery.objects.filter(endpoint=newcomer).exists()


def test_an_operation_with_nothing_left_cannot_be_stopped():
    letter = make_dead_letter()
    operation = redrive.redrive([letter.pk], actor="anna")
    finish([take(letter.endpoint, letter.delivery.event)], kind=Kind.REJECTED)

    with pytest.raises(OperationFinished):
        operations.stop(operation, actor="anna")


def test_an_endpoint_that_gets_many_back_comes_up_on_a_ramp(django_capture_on_commit_callbacks, monkeypatch):
    monkeypatch.setattr(operations, "RAMP_ROWS", 2)
    many, few = make_endpoint(), make_endpoint()
    letters = [*dead_letters(2, many), *dead_letters(1, few)]

    with django_capture_on_commit_callbacks(execute=True):
        redrive.redrive([letter.pk for letter in letters], actor="anna")

    flows = describe([many.pk, few.pk])
    assert flows[many.pk].ramp_reason == "a big redrive"
    assert flows[few.pk].ramp_seconds is None


def test_a_redrive_says_whether_it_keeps_the_order_of_an_ordered_endpoint():
    kept, broken = make_endpoint(ordered=True), make_endpoint(ordered=True, tenant="late")
    first, late = make_dead_letter(kept), make_dead_letter(broken)
    newer = make_event(tenant="late")
    finish([take(broken, newer)], kind=Kind.DELIVERED)

    notes = order.order_notes([first.pk, late.pk])

    assert "The order is kept" in notes[0]
    assert "1 of them arrive out of sequence" in notes[1]


def test_the_command_says_the_order_before_it_redrives():
    letter = make_dead_letter(make_endpoint(ordered=True))
    said = StringIO()

    call_command("redrive", letter.pk, "--dry-run", stdout=StringIO(), stderr=said)

    assert "is ordered" in said.getvalue()


def test_the_commands_pace_show_and_stop_a_redrive():
    letters = dead_letters(3)
    out = StringIO()
    call_command("redrive", *[letter.pk for letter in letters], "--rate", "0.1", "--json", stdout=out)
    number = str(json.loads(out.getvalue())["operation"])

    shown, stopped = StringIO(), StringIO()
    call_command("operation", "show", number, "--json", stdout=shown)
    call_command("operation", "stop", number, "--json", stdout=stopped)

    assert json.loads(shown.getvalue())["waiting"] == 3
    assert json.loads(stopped.getvalue())["withdrawn"] == 3
    with pytest.raises(CommandError, match="nothing left"):
        call_command("operation", "stop", number)


def test_a_rate_on_the_command_line_must_make_sense():
    with pytest.raises(CommandError, match="--rate"):
        call_command("redrive", "--all", "--rate", "-1")
