"""Retention: bodies go, the ledger stays, and what is open is never touched."""

from datetime import timedelta

import pytest
from django.utils import timezone

from inbox import Logic
from inbox.models import DeadLetter, FetchedObject, ReceivedEvent, RefusalCount
from inbox.prune import ROWS_PER_BATCH, prune
from inbox.redrive import discard

pytestmark = pytest.mark.django_db

OLD, VERY_OLD = timedelta(days=31), timedelta(days=401)


def age(span):
    ReceivedEvent.objects.update(received_at=timezone.now() - span)


def run(**options):
    return prune(now=timezone.now(), pause=lambda seconds: None, **options)


def test_an_old_body_goes_and_the_repeat_is_still_told(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post_bytes(b'{"a":1}', id="msg_1")
    work(sender)
    age(OLD)

    assert run().bodies == 1
    assert (sender.event("msg_1").body, sender.event("msg_1").headers) == (None, {})
    assert sender.post_bytes(b'{"a":1}', id="msg_1").status_code == 200
    assert (sender.event("msg_1").duplicates, sender.event("msg_1").conflicts) == (1, 0)
    assert work(sender) == 0


def test_what_is_young_or_not_processed_yet_keeps_its_body(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post(id="young")
    work(sender)
    assert run().bodies == 0

    sender.post(id="waiting")
    age(VERY_OLD)
    run()
    assert sender.event("waiting").body is not None


def test_an_open_dead_letter_keeps_its_event_whole_and_a_discarded_one_does_not(sender, handles, work):
    @handles(sender)
    def fail(event):
        raise Logic("Broken.")

    sender.post(id="msg_1")
    work(sender)
    age(VERY_OLD)
    assert (run().bodies, run().events) == (0, 0)

    discard([DeadLetter.objects.get().pk], actor="nora", note="Old.")
    pruned = run()
    assert (pruned.bodies, pruned.dead_letters, pruned.events) == (1, 1, 1)
    assert not ReceivedEvent.objects.exists()


def test_the_ledger_goes_last_of_all(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post(id="msg_1")
    work(sender)
    age(timedelta(days=399))
    assert run().events == 0

    age(VERY_OLD)
    assert run().events == 1


def test_counts_of_refusals_and_marks_of_fetches_go_too(sender):
    then = timezone.now() - VERY_OLD
    RefusalCount.objects.create(day=then.date(), reason="stale", count=1, last_at=then)
    FetchedObject.objects.create(source=sender.source, key="1", fetched_at=then)

    pruned = run()

    assert (pruned.refusals, pruned.fetches) == (1, 1)


def test_it_works_in_batches_rests_between_them_and_stops_when_its_time_is_up(sender):
    rows = [
        FetchedObject(source=sender.source, key=str(number), fetched_at=timezone.now() - OLD)
        for number in range(ROWS_PER_BATCH * 2 + 1)
    ]
    FetchedObject.objects.bulk_create(rows)
    rests: list[float] = []
    times = iter(range(100))

    cut = prune(now=timezone.now(), budget_seconds=12, pause=rests.append, clock=lambda: float(next(times)))
    assert not cut.is_complete

    rest = prune(now=timezone.now(), pause=rests.append)
    assert cut.fetches + rest.fetches == len(rows)
    assert rests
