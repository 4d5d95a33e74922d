"""Tallies: everything that ever came in and what became of it, as numbers that never go down."""

import threading
from datetime import timedelta
from random import Random

import pytest
from django.db import connection, transaction
from django.utils import timezone

from inbox import Dependency, Logic, Result
from inbox.errors import FailureClass
from inbox.models import ReceivedEvent, RefusalCount, RefusalTotal, SourceTally
from inbox.prune import prune
from inbox.refusals import count_refusal
from inbox.statuses import Status
from inbox.stock import refusals, tallies, waiting
from inbox.sweeps import lapsed
from inbox.sweeps import tallies as folding
from inbox.transitions.claim import claim
from inbox.transitions.tally import FAILED, FINISHED, LATENCY_MS, SLOTS, count_failure
from tests.integration.deliveries.test_racing import in_another_connection

pytestmark = pytest.mark.django_db


def finished(result: str) -> int:
    return tallies()[0].finished[FINISHED.index(Status(result))]


def failed(failure: FailureClass) -> int:
    return tallies()[0].failed[FAILED.index(failure)]


def test_a_source_that_nothing_came_to_is_there_with_0(sender):
    (tally,) = tallies()

    assert (tally.source, tally.received, tally.duplicates) == (sender.source.slug, 0, 0)
    assert (sum(tally.finished), sum(tally.failed), len(tally.latency)) == (0, 0, len(LATENCY_MS) + 1)


def test_new_events_repeats_and_other_bodies_are_told_apart(sender):
    sender.post(id="msg_1")
    sender.post(id="msg_1")
    sender.post({"other": "body"}, id="msg_1")
    sender.post(id="msg_2")

    (tally,) = tallies()

    assert (tally.received, tally.duplicates, tally.conflicts) == (2, 2, 1)


@pytest.mark.parametrize("result", [Result.PROCESSED, Result.STALE, Result.IGNORED])
def test_an_event_that_ended_counts_by_how_and_by_its_time(sender, handles, work, result):
    handles(sender)(lambda event: result)
    sender.post(id="msg_1")
    ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(seconds=20))

    work(sender)

    (tally,) = tallies()
    assert finished(result) == sum(tally.finished) == 1
    assert tally.latency[LATENCY_MS.index(30_000)] == sum(tally.latency) == 1
    assert tally.latency_ms_total == pytest.approx(20_000, abs=5_000)


def test_a_time_that_is_a_bound_belongs_to_the_bucket_of_that_bound(sender, handles, work, monkeypatch):
    handles(sender)(lambda event: None)
    sender.post(id="msg_1")
    with connection.cursor() as cursor:
        cursor.execute("SELECT (width_bucket(50 - 1, ARRAY[50, 100]) + 1, width_bucket(51 - 1, ARRAY[50, 100]) + 1)")
        assert cursor.fetchone()[0] == "(1,2)"


def test_failed_attempts_count_by_class_and_the_last_one_is_a_death(sender, handles, work):
    handles(sender, "soft.*")(raising(Dependency("Away.")))
    handles(sender, "hard.*")(raising(Logic("No.")))
    sender.post(id="msg_1", type="soft.one")
    sender.post(id="msg_2", type="hard.one")

    work(sender)

    assert (failed(FailureClass.DEPENDENCY), failed(FailureClass.LOGIC), finished("dead")) == (1, 1, 1)
    assert sum(tallies()[0].latency) == 0


def raising(error):
    def handle(event):
        raise error

    return handle


def test_poison_is_received_and_dead(sender):
    sender.post_bytes(b"{not json", id="msg_1")

    assert (tallies()[0].received, failed(FailureClass.POISON), finished("dead")) == (1, 1, 1)


def test_a_worker_that_died_is_a_failed_attempt(sender, handles):
    sender.post(id="msg_1")
    claim(sender.source.pk, lambda slug: -1.0)

    lapsed.sweep(Random(1))

    assert (failed(FailureClass.CRASHED), finished("dead")) == (1, 0)


def test_what_a_handler_that_failed_had_counted_is_undone_with_it(sender, handles, work):
    handles(sender)(raising(Logic("No.")))
    sender.post(id="msg_1")

    work(sender)

    assert sum(tallies()[0].finished) == 1


def test_folding_and_pruning_change_no_number(sender, handles, work, settings):
    handles(sender)(lambda event: None)
    for id in ("msg_1", "msg_2", "msg_2"):
        sender.post(id=id)
    work(sender)
    before = tallies()
    SourceTally.objects.update(starts_at=timezone.now() - timedelta(minutes=5))

    assert folding.sweep().folded == 1
    assert folding.sweep().folded == 0
    assert tallies() == before
    sender.post(id="msg_3")
    SourceTally.objects.filter(starts_at__isnull=False).update(starts_at=timezone.now() - timedelta(minutes=5))
    assert folding.sweep().folded == 1
    assert SourceTally.objects.count() == 1

    ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(days=500))
    prune(now=timezone.now(), pause=lambda seconds: None)

    assert (tallies()[0].received, tallies()[0].duplicates) == (3, 1)


def test_refusals_of_days_that_were_pruned_are_still_counted(sender):
    for _ in range(3):
        count_refusal(sender.source.pk, "bad-signature", ("key",))
    count_refusal(None, "unknown-source")
    before = refusals()
    RefusalCount.objects.update(day=timezone.now().date() - timedelta(days=500))

    pruned = prune(now=timezone.now(), pause=lambda seconds: None)
    assert pruned.refusals == 2
    assert not RefusalCount.objects.exists()
    assert refusals() == before == [("", "unknown-source", 1), (sender.source.slug, "bad-signature", 3)]

    count_refusal(None, "unknown-source")
    RefusalCount.objects.update(day=timezone.now().date() - timedelta(days=500))
    prune(now=timezone.now(), pause=lambda seconds: None)

    assert RefusalTotal.objects.get(source=None).count == 2


@pytest.mark.django_db(transaction=True)
def test_whoever_counts_waits_for_nobody_else_that_counts(sender):
    counted, may_end = threading.Event(), threading.Event()
    pids = [connection_id()]

    def count_and_hold() -> None:
        pids.append(connection_id())
        with transaction.atomic():
            count_failure(sender.source.pk, FailureClass.LOGIC, is_dead=False)
            counted.set()
            may_end.wait(10)

    count_failure(sender.source.pk, FailureClass.LOGIC, is_dead=False)
    thread = in_another_connection(count_and_hold)
    assert counted.wait(10)
    if (pids[0] - pids[1]) % SLOTS:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1s'")
            sender.post(id="msg_1")
            cursor.execute("RESET lock_timeout")
    may_end.set()
    thread.join(10)
    if (pids[0] - pids[1]) % SLOTS == 0:
        pytest.skip("the connections share a slot")

    assert SourceTally.objects.count() == 2
    assert (tallies()[0].received, failed(FailureClass.LOGIC)) == (1, 2)


def connection_id() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.django_db(transaction=True)
def test_counts_of_many_at_once_are_all_there(sender):
    def count_often() -> None:
        for _ in range(20):
            count_failure(sender.source.pk, FailureClass.LOGIC, is_dead=True)

    threads = [in_another_connection(count_often) for _ in range(4)]
    for thread in threads:
        thread.join(20)

    assert (failed(FailureClass.LOGIC), finished("dead")) == (80, 80)


def test_what_is_not_finished_is_told_with_its_age(sender, handles, work):
    sender.post(id="msg_1")
    ReceivedEvent.objects.update(
        received_at=timezone.now() - timedelta(hours=1), next_attempt_at=timezone.now() - timedelta(minutes=1)
    )

    (found,) = waiting()
    assert (found.source, found.unprocessed) == (sender.source.slug, 1)
    assert found.oldest_unprocessed_seconds == pytest.approx(3600, abs=10)
    assert found.oldest_due_seconds == pytest.approx(60, abs=10)

    work(sender)
    (found,) = waiting()
    assert (found.unprocessed, found.oldest_unprocessed_seconds, found.oldest_due_seconds) == (0, 0, 0)
