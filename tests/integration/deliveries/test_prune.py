"""Prune deletes what has been kept long enough and nothing else, a page at a time, beside everybody else's work."""

import io
import json
from datetime import timedelta
from threading import Event as Signal

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from deliveries import operations, publish, redrive, replay
from deliveries.models import Attempt, DeadLetter, Delivery, Event, Operation
from deliveries.outcomes import Kind
from deliveries.prune import Retention, outlook, prune
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from deliveries.sweeps import old
from deliveries.transitions import delete, old_events
from deliveries.transitions.delete import BEGINNING, delete_events
from endpoints import availability
from tests.broker import away
from tests.factories import finish, make_dead_letter, make_delivered, make_endpoint, make_event, take
from tests.integration.deliveries.test_racing import in_another_connection

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

MONTH = Retention(events=30, attempts=30, dead_letters=30)
FOR_GOOD = 10_000


def age(event: Event, days: float = 40) -> Event:
    """Let the event and its attempts have happened so long ago."""
    moment = timezone.now() - timedelta(days=days)
    Event.objects.filter(pk=event.pk).update(created_at=moment)
    Attempt.objects.filter(delivery__event=event).update(started_at=moment)
    return event


def resolved(letter: DeadLetter, days: float) -> DeadLetter:
    DeadLetter.objects.filter(pk=letter.pk).update(resolved_at=timezone.now() - timedelta(days=days))
    return letter


def old_dead_letter() -> DeadLetter:
    letter = make_dead_letter(make_endpoint(tenant=f"tenant-{Event.objects.count()}"))
    age(letter.delivery.event)
    return letter


def run(retention: Retention = MONTH, **more):
    return prune(retention, now=timezone.now(), pause=lambda _seconds: None, **more)


def is_kept(event: Event) -> bool:
    return Event.objects.filter(pk=event.pk).exists()


class TestWhatGoes:
    def test_an_old_event_goes_with_its_deliveries_and_attempts_and_a_young_one_stays(self):
        endpoint = make_endpoint()
        gone, young = (make_delivered(endpoint).event for _ in range(2))
        age(gone)
        age(young, days=29)
        nobodys = age(make_event(tenant="without endpoints"))

        assert run().events == 2
        assert not is_kept(gone)
        assert not is_kept(nobodys)
        assert list(Delivery.objects.values_list("event", flat=True)) == [young.pk]
        assert list(Attempt.objects.values_list("delivery__event", flat=True)) == [young.pk]

    @pytest.mark.parametrize("status", [Status.PENDING, Status.SENDING])
    def test_nothing_on_its_way_goes_nor_what_it_hangs_on(self, status):
        endpoint, other = make_endpoint(), make_endpoint()
        event = age(make_event())
        finish([take(other, event)], kind=Kind.DELIVERED)
        age(event)
        if status == Status.SENDING:
            take(endpoint, event)

        assert run().events == 0
        assert event.deliveries.count() == 2

    def test_the_deliveries_of_a_paused_endpoint_wait_however_old_they_are(self):
        endpoint = make_endpoint()
        event = age(make_event(), days=400)
        availability.pause(endpoint, actor="anna", reason="maintenance")

        run()

        assert is_kept(event)

    def test_an_open_dead_letter_keeps_its_event_for_good(self):
        letter = old_dead_letter()
        age(letter.delivery.event, days=3000)

        assert run().events == 0
        assert DeadLetter.objects.get().delivery.event.body

    def test_a_resolved_dead_letter_keeps_its_event_until_it_is_old_itself(self):
        letter = old_dead_letter()
        redrive.discard([letter.pk], actor="anna", note="not needed")

        assert run().events == 0
        resolved(letter, days=31)
        assert run().events == 1
        assert not DeadLetter.objects.exists()
        assert Operation.objects.get().moved == 1

    def test_a_redriven_dead_letter_goes_before_its_event_and_a_discarded_one_does_not(self):
        redriven, discarded, waiting = (old_dead_letter() for _ in range(3))
        redrive.redrive([redriven.pk, waiting.pk], actor="anna")
        redrive.discard([discarded.pk], actor="anna", note="not needed")
        finish([take(redriven.endpoint, redriven.delivery.event)], kind=Kind.DELIVERED)
        for letter in (redriven, discarded, waiting):
            resolved(letter, days=31)

        assert run(Retention(events=FOR_GOOD, attempts=FOR_GOOD, dead_letters=30)).dead_letters == 1
        assert set(DeadLetter.objects.all()) == {discarded, waiting}

    def test_a_stop_still_reopens_the_dead_letter_of_what_waited_for_months(self):
        letter = old_dead_letter()
        availability.pause(letter.endpoint, actor="anna", reason="maintenance")
        operation = redrive.redrive([letter.pk], actor="anna")
        resolved(letter, days=200)

        run()
        operations.stop(operation, actor="anna")

        letter.refresh_from_db()
        assert (letter.resolution, letter.delivery.status) == ("open", Status.DEAD)

    def test_old_attempts_of_finished_deliveries_go_before_their_event(self):
        endpoint = make_endpoint()
        finished, waiting = make_delivered(endpoint), make_delivered(endpoint)
        for delivery in (finished, waiting):
            age(delivery.event)
        replay.replay([waiting.pk], actor="anna")

        pruned = run(Retention(events=FOR_GOOD, attempts=30, dead_letters=30))

        assert (pruned.events, pruned.attempts) == (0, 1)
        assert Attempt.objects.get().delivery_id == waiting.pk

    def test_a_dead_letter_still_tells_its_attempts_when_they_are_gone(self):
        letter = old_dead_letter()

        assert run().attempts == 1
        assert DeadLetter.objects.get(pk=letter.pk).attempts[0]["number"] == 1

    def test_a_dry_run_counts_exactly_what_a_run_deletes(self):
        endpoint = make_endpoint(tenant="a")
        for _ in range(3):
            age(make_delivered(endpoint).event)
        old_dead_letter()
        letters = [old_dead_letter() for _ in range(2)]
        redrive.redrive([letter.pk for letter in letters], actor="anna")
        for letter in letters:
            finish([take(letter.endpoint, letter.delivery.event)], kind=Kind.DELIVERED)
            resolved(letter, days=31)
        age(letters[0].delivery.event, days=1)
        age(make_event(tenant="a"))

        expected = outlook(MONTH, now=timezone.now())

        assert (expected.events, expected.dead_letters, expected.attempts) == (4, 1, 1)
        assert run() == expected


class TestPages:
    def test_a_page_is_cut_by_what_hangs_on_its_events(self):
        for number in range(3):
            make_endpoint(tenant="a", description=str(number))
        # Each event is 1 row and 3 deliveries with an attempt each: 7 rows.
        for _ in range(4):
            event = make_event(tenant="a")
            for delivery in event.deliveries.select_related("endpoint"):
                finish([take(delivery.endpoint, event)], kind=Kind.DELIVERED)
            age(event)
        now = timezone.now()

        first = delete_events(now, now, BEGINNING, 15)
        assert (first.deleted, first.place is None) == (2, False)
        # One that is larger than a page by itself is a page by itself.
        second = delete_events(now, now, first.place, 3)
        assert second.deleted == 1
        third = delete_events(now, now, second.place, 15)
        assert (third.deleted, third.place) == (1, None)

    def test_events_of_one_moment_are_all_looked_at_once(self, monkeypatch):
        monkeypatch.setattr(old_events, "EVENTS_PER_PAGE", 2)
        endpoint = make_endpoint(tenant="a")
        delivered = [make_delivered(endpoint).event for _ in range(4)]
        waiting = [make_event(tenant="a") for _ in range(3)]
        Event.objects.update(created_at=timezone.now() - timedelta(days=40))

        assert run().events == len(delivered)
        assert set(Event.objects.all()) == set(waiting)

    def test_a_run_stops_when_its_time_is_up_and_another_goes_on_there(self, monkeypatch):
        monkeypatch.setattr(old_events, "EVENTS_PER_PAGE", 2)
        for _ in range(4):
            age(make_event(tenant="without endpoints"))
        ticks = iter(range(100))

        first = run(budget_seconds=1, clock=lambda: next(ticks))
        assert (first.events, first.is_complete, first.stop.kind) == (2, False, "events")
        second = run(start=first.stop)
        assert (second.events, second.is_complete) == (2, True)

    def test_the_rest_between_pages_is_as_long_as_the_page_was(self):
        age(make_event(tenant="without endpoints"))
        moments = iter([0, 3, 10, 10.5, 20, 21])
        rests: list[float] = []

        prune(MONTH, now=timezone.now(), pause=rests.append, clock=lambda: next(moments))

        # A page of each kind, and no rest after the last.
        assert rests == [3, 0.5]

    def test_a_page_that_is_cut_short_deletes_nothing(self, monkeypatch):
        event = age(make_delivered().event)
        monkeypatch.setattr(delete, "_DELETE_PARTS", (*delete._DELETE_PARTS[:-1], "SELECT 1 / 0"))

        with pytest.raises(DatabaseError):
            run()
        assert is_kept(event)
        assert Attempt.objects.count() == 1


class TestTheSweep:
    def test_a_run_goes_on_where_the_last_one_stopped_so_that_kept_events_cannot_use_up_every_run(self, monkeypatch):
        monkeypatch.setattr(old_events, "EVENTS_PER_PAGE", 1)
        for _ in range(2):
            old_dead_letter()
        gone = age(make_delivered(make_endpoint(tenant="a")).event, days=35)

        stops = [old.sweep(budget_seconds=0.0).is_complete for _ in range(3)]

        assert stops == [False] * 3
        assert not is_kept(gone)

    def test_after_a_whole_round_it_begins_again(self):
        assert old.sweep().is_complete
        assert not redis_client().exists(old.STOP_KEY)

    def test_without_redis_it_begins_at_the_beginning(self):
        event = age(make_event(tenant="without endpoints"))

        with away():
            assert old.sweep().events == 1
        assert not is_kept(event)


class TestTheCommand:
    def test_it_says_what_it_deleted(self):
        age(make_delivered().event)

        assert command() == {"events": 1, "dead_letters": 0, "attempts": 0, "is_complete": True, "dry_run": False}

    def test_a_dry_run_deletes_nothing(self):
        event = age(make_delivered().event)

        assert command("--dry-run")["events"] == 1
        assert is_kept(event)

    def test_each_kind_has_its_own_days(self):
        event = make_delivered().event
        age(event, days=3)

        assert command("--attempts-days", "2")["attempts"] == 1
        assert command("--events-days", "2.5")["events"] == 1

    @pytest.mark.parametrize("days", ["-1", "nan", "inf", "1e9"])
    def test_days_that_make_no_sense_are_refused(self, days):
        with pytest.raises(CommandError, match="--events-days"):
            command("--events-days", days)

    def test_a_time_that_is_none_is_refused(self):
        with pytest.raises(CommandError, match="--seconds"):
            command("--seconds", "0")


def somebody_waits_for_a_lock() -> bool:
    # Not pg_stat_activity, which a transaction sees as it was at its first look.
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def command(*arguments: str):
    out = io.StringIO()
    call_command("prune", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


@pytest.mark.django_db(transaction=True)
class TestBesideOthers:
    def test_an_event_that_is_being_replayed_stays(self):
        delivery = make_delivered()
        age(delivery.event)
        replayed, pruned = Signal(), Signal()

        def rival():
            with transaction.atomic():
                replay.replay([delivery.pk], actor="anna")
                replayed.set()
                assert pruned.wait(10)

        thread = in_another_connection(rival)
        assert replayed.wait(10)
        count = run().events
        pruned.set()
        thread.join(10)

        delivery.refresh_from_db()
        assert (count, delivery.status) == (0, Status.PENDING)

    def test_a_replay_that_comes_too_late_finds_nothing_and_says_so(self):
        delivery = make_delivered()
        age(delivery.event)
        done = []

        with transaction.atomic():
            now = timezone.now()
            assert delete_events(now, now, BEGINNING, 100).deleted == 1
            thread = in_another_connection(lambda: done.append(replay.replay([delivery.pk], actor="anna")))
            while not somebody_waits_for_a_lock():
                pass
        thread.join(10)

        assert (done[0].moved, done[0].refused) == (0, 1)

    def test_an_event_that_gets_another_delivery_meanwhile_stays(self):
        event = age(make_delivered().event)
        make_endpoint()
        inserted, pruned = Signal(), Signal()

        def rival():
            with transaction.atomic():
                replay.replay_events([event.pk], actor="anna", missed_only=True)
                inserted.set()
                assert pruned.wait(10)

        thread = in_another_connection(rival)
        assert inserted.wait(10)
        count = run().events
        pruned.set()
        thread.join(10)

        assert count == 0
        assert event.deliveries.filter(status=Status.PENDING).count() == 1

    def test_an_event_that_is_gone_gets_no_delivery(self):
        event = age(make_delivered().event)
        make_endpoint()
        done = []

        with transaction.atomic():
            now = timezone.now()
            assert delete_events(now, now, BEGINNING, 100).deleted == 1
            thread = in_another_connection(
                lambda: done.append(replay.replay_events([event.pk], actor="anna", missed_only=True))
            )
            while not somebody_waits_for_a_lock():
                pass
        thread.join(10)

        assert done[0].moved == 0
        assert not Delivery.objects.exists()

    def test_a_page_holds_up_no_publisher(self):
        make_endpoint()
        age(make_delivered().event)
        published = []

        with transaction.atomic():
            now = timezone.now()
            delete_events(now, now, BEGINNING, 100)
            thread = in_another_connection(lambda: published.append(publish("payment.completed", {})))
            thread.join(10)

            assert published[0].deliveries.count() == 2

    def test_two_runs_at_once_delete_each_event_once(self):
        endpoint = make_endpoint()
        for _ in range(6):
            age(make_delivered(endpoint).event)
        counts: list[int] = []
        deleted = Signal()

        def rival():
            with transaction.atomic():
                now = timezone.now()
                counts.append(delete_events(now, now, BEGINNING, 9).deleted)
                deleted.set()
                assert through.wait(10)

        through = Signal()
        thread = in_another_connection(rival)
        assert deleted.wait(10)
        counts.append(run().events)
        through.set()
        thread.join(10)

        assert counts == [3, 3]
        assert not Event.objects.exists()


def test_the_statements_look_into_indexes_however_many_rows_there_are():
    endpoint = make_endpoint()
    finish([take(endpoint, event := make_event())], kind=Kind.DELIVERED)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)
            SELECT 'bulk-' || n, type, tenant, -n, occurred_at, now() - make_interval(secs => n), body, fingerprint
            FROM deliveries_event, generate_series(1, 5000) n WHERE id = %s
            """,
            [event.pk],
        )
        cursor.execute(
            """
            INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset,
                                             finished_at, deadline_at, last_outcome, created_at)
            SELECT id, %s, 'delivered', 1, 0, now(), now(), 'delivered', now()
            FROM deliveries_event WHERE id LIKE 'bulk-%%'
            """,
            [endpoint.pk],
        )
        cursor.execute("ANALYZE deliveries_event, deliveries_delivery, deliveries_attempt, deliveries_deadletter")
        cursor.execute(
            "EXPLAIN " + old_events._CHOOSE,
            {
                "before": timezone.now() - timedelta(seconds=100),
                "letters_before": timezone.now(),
                "after_time": timezone.now() - timedelta(days=1),
                "after_id": "0",
                "events": 200,
                "rows": 1000,
            },
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "event_by_age" in plan, plan
    assert "delivery_once_per_event_and_endpoint" in plan, plan
    assert "Seq Scan on deliveries_event" not in plan, plan
    assert "Seq Scan on deliveries_delivery" not in plan, plan
