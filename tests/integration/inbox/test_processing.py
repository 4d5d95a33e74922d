"""Processing: effect and record are one, failures are judged, and nothing is lost or done twice."""

import threading
from datetime import timedelta
from random import Random

import pytest
import requests
from django.contrib.auth.models import Group
from django.db import IntegrityError, OperationalError, connection
from django.utils import timezone

from inbox import DataIntegrity, Dependency, Logic, Result, Transient, dispatch, handlers
from inbox.attempt import COVERED, run
from inbox.errors import FailureClass, HandlerConflict
from inbox.models import DeadLetter, FetchedObject, ReceivedEvent, Source
from inbox.process import process, stopping
from inbox.retries import POLICIES
from inbox.sweeps import due, lapsed
from inbox.transitions.claim import claim
from tests.integration.inbox.conftest import make_sender

pytestmark = pytest.mark.django_db


def make_due(sender):
    """What waits for its retry is due now: by the database's clock, which stands still within a test's transaction."""
    sender.source.events.filter(status="received").update(next_attempt_at=timezone.now() - timedelta(hours=1))


def take(sender):
    return claim(sender.source.pk, lambda slug: 60.0)


def test_a_handler_gets_the_event_and_its_effect_is_committed_with_the_record(sender, handles, work):
    seen = []

    @handles(sender, "order.*")
    def make_group(event):
        seen.append(event)
        Group.objects.create(name=event.data["data"]["name"])

    sender.post({"name": "buyers"}, id="msg_1")
    assert work(sender) == 1

    event = sender.event("msg_1")
    assert (event.status, event.attempt_count) == ("processed", 1)
    assert event.handler.endswith("make_group")
    assert Group.objects.filter(name="buyers").exists()
    assert (seen[0].id, seen[0].type, seen[0].source, seen[0].attempt) == ("msg_1", "order.paid", sender.source.slug, 1)
    assert seen[0].body == bytes(event.body)


def test_what_a_failing_handler_wrote_is_undone(sender, handles, work):
    @handles(sender)
    def fail(event):
        Group.objects.create(name="half")
        raise Transient("Not yet.")

    sender.post(id="msg_1")
    work(sender)

    event = sender.event("msg_1")
    assert not Group.objects.exists()
    assert (event.status, event.reason) == ("received", "Not yet.")
    assert [(entry["attempt"], entry["class"]) for entry in event.failures] == [(1, "transient")]


def test_a_repeat_of_a_failed_event_is_counted_and_the_event_is_still_processed(sender, handles, work):
    answers = [Transient("Not yet."), None]

    @handles(sender)
    def second_time(event):
        return answers.pop(0)

    sender.post(id="msg_1")
    work(sender)
    sender.post(id="msg_1")
    make_due(sender)
    work(sender)

    assert (sender.event("msg_1").status, sender.event("msg_1").duplicates) == ("processed", 1)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (Transient("x"), "transient"),
        (OperationalError("deadlock"), "transient"),
        (Dependency("x"), "dependency"),
        (requests.ConnectionError("refused"), "dependency"),
        (TimeoutError(), "dependency"),
    ],
)
@pytest.mark.parametrize("returned", [False, True])
def test_what_passes_by_itself_is_tried_again_with_growing_waits_until_its_budget_is_spent(
    sender, handles, work, error, failure, returned
):
    @handles(sender)
    def fail(event):
        if returned and not isinstance(error, OSError | OperationalError):
            return error
        raise error

    sender.post(id="msg_1")
    most = POLICIES[FailureClass(failure)].max_attempts
    for attempt in range(1, most + 1):
        assert sender.event("msg_1").status == "received"
        make_due(sender)
        work(sender)
        assert sender.event("msg_1").attempt_count == attempt

    letter = DeadLetter.objects.get()
    assert (sender.event("msg_1").status, letter.failure_class) == ("dead", failure)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (DataIntegrity("x"), "data-integrity"),
        (IntegrityError("x"), "data-integrity"),
        (Logic("x"), "logic"),
        (KeyError("data"), "logic"),
        (FileNotFoundError("x"), "logic"),
    ],
)
def test_what_does_not_pass_is_a_dead_letter_at_once(sender, handles, work, error, failure):
    @handles(sender)
    def fail(event):
        raise error

    sender.post(id="msg_1")
    work(sender)

    letter = DeadLetter.objects.get()
    assert (letter.failure_class, letter.event.status, letter.event.attempt_count) == (failure, "dead", 1)


def test_a_reason_that_no_column_could_hold_is_cleaned(sender, handles, work):
    @handles(sender)
    def fail(event):
        raise Logic("a\0b \udc88" + "c" * 5000)

    sender.post(id="msg_1")
    work(sender)

    assert len(DeadLetter.objects.get().reason) == 2000


def test_an_unhandled_type_is_ignored_where_the_source_says_so_and_can_be_seen(sender, handles, work):
    handles(sender, "other.*")(lambda event: None)
    sender.post(id="msg_1")

    work(sender)

    assert sender.event("msg_1").status == "ignored"
    assert "order.paid" in sender.event("msg_1").reason


def test_an_unhandled_type_is_a_dead_letter_where_the_source_says_so(new_sender, handles, work):
    sender = new_sender(unhandled="dead_letter")
    sender.post(id="msg_1")

    work(sender)

    assert DeadLetter.objects.get().failure_class == "unhandled"


def test_the_longest_pattern_wins_and_two_handlers_of_one_pattern_are_refused(sender, handles):
    def handler_of(name):
        def function(event):
            return None

        function.__qualname__ = name
        return function

    for pattern in ("*", "order.*", "order.paid", "orders/*"):
        handles(sender, pattern)(handler_of(pattern))

    found = {
        type: handlers.find(sender.source.slug, type).name.rpartition("processing.")[2]
        for type in ("order.paid", "order.paid.late", "orders/create", "order", "")
    }
    assert found == {
        "order.paid": "order.paid",
        "order.paid.late": "order.*",
        "orders/create": "orders/*",
        "order": "*",
        "": "*",
    }
    with pytest.raises(HandlerConflict):
        handles(sender, "order.*")(handler_of("another"))


def test_a_worker_that_was_slower_than_its_lease_writes_nothing(sender, handles, monkeypatch):
    @handles(sender)
    def slow(event):
        Group.objects.create(name="late")
        # Meanwhile the sweep has taken the event back.
        ReceivedEvent.objects.filter(event_id="msg_1").update(lease_token="00000000-0000-0000-0000-000000000000")

    sender.post(id="msg_1")
    claimed = take(sender)
    with pytest.MonkeyPatch.context():
        run(claimed, Random(1))

    assert not Group.objects.exists()


def test_a_lapsed_event_goes_back_and_what_kills_its_worker_every_time_ends_as_a_dead_letter(sender):
    sender.post(id="msg_1")
    for _ in range(POLICIES[FailureClass.CRASHED].max_attempts):
        make_due(sender)
        assert take(sender)
        ReceivedEvent.objects.update(lease_expires_at=timezone.now() - timedelta(hours=1))
        assert lapsed.sweep(Random(1)).lapsed == 1

    letter = DeadLetter.objects.get()
    assert (letter.failure_class, letter.event.status) == ("crashed", "dead")
    assert lapsed.sweep(Random(1)).lapsed == 0


def test_a_two_phase_handler_runs_outside_a_transaction_and_again_with_the_same_key_after_a_crash(
    sender, handles, work
):
    keys = []

    @handles(sender, two_phase=True)
    def charge(event):
        keys.append(event.idempotency_key)
        if len(keys) == 1:
            raise SystemExit

    sender.post(id="msg_1")
    with pytest.raises(SystemExit):
        work(sender)
    assert sender.event("msg_1").status == "processing"
    ReceivedEvent.objects.update(lease_expires_at=timezone.now() - timedelta(hours=1))
    lapsed.sweep(Random(1))
    make_due(sender)
    work(sender)

    assert sender.event("msg_1").status == "processed"
    assert (len(keys), len(set(keys))) == (2, 1)


@pytest.mark.django_db(transaction=True)
def test_only_the_one_phase_form_runs_inside_a_transaction(empty_redis, handles, work):
    sender = make_sender()
    inside: dict[str, bool] = {}
    handles(sender, "a")(lambda event: inside.update(one=connection.in_atomic_block))
    handles(sender, "b", two_phase=True)(lambda event: inside.update(two=connection.in_atomic_block))

    sender.post(type="a")
    sender.post(type="b")
    work(sender)

    assert inside == {"one": True, "two": False}


def test_events_of_one_key_wait_for_each_other_and_others_do_not(new_sender, handles, work):
    sender, done = new_sender(ordering_path="data.order"), []
    failing = {"a1"}

    @handles(sender)
    def note(event):
        if event.id in failing:
            raise Transient("Not yet.")
        done.append(event.id)

    for id, order in (("a1", 1), ("a2", 1), ("b1", 2), ("none", None)):
        sender.post({"order": order}, id=id)
    work(sender)
    assert done == ["b1", "none"]

    failing.clear()
    make_due(sender)
    work(sender)
    assert done == ["b1", "none", "a1", "a2"]


def test_an_event_that_was_given_up_does_not_hold_up_the_later_ones_of_its_key(new_sender, handles, work):
    sender, done = new_sender(ordering_path="data.order"), []

    @handles(sender)
    def note(event):
        if event.id == "a1":
            raise Logic("Broken.")
        done.append(event.id)

    for id in ("a1", "a2"):
        sender.post({"order": 1}, id=id)
    work(sender)

    assert (sender.event("a1").status, done) == ("dead", ["a2"])


@pytest.mark.django_db(transaction=True)
def test_with_many_workers_events_of_one_key_keep_the_order_of_their_arrival(empty_redis, handles):
    sender, lock, began = make_sender(concurrency=4, ordering_path="data.order"), threading.Lock(), []
    running, collisions = set(), []

    @handles(sender)
    def note(event):
        order = event.data["data"]["order"]
        with lock:
            collisions.extend([event.id] if order in running else [])
            running.add(order)
            began.append((order, event.id))
        Group.objects.create(name=event.id)
        with lock:
            running.remove(order)

    sent = [(number % 3, f"msg_{number:02d}") for number in range(24)]
    for order, id in sent:
        sender.post({"order": order}, id=id)

    def worker():
        while ReceivedEvent.objects.exclude(status="processed").exists():
            process(sender.source.pk)
        connection.close()

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(began) == sorted(sent)
    assert sorted(began, key=lambda each: each[0]) == sorted(sent, key=lambda each: each[0])
    assert collisions == []


def test_no_more_events_are_taken_at_once_than_the_source_allows(new_sender):
    sender = new_sender(concurrency=2)
    for _ in range(5):
        sender.post()

    taken = [take(sender) for _ in range(4)]

    assert [claimed is not None for claimed in taken] == [True, True, False, False]
    assert [claimed.has_more for claimed in taken[:2]] == [True, False]


@pytest.mark.django_db(transaction=True)
def test_many_workers_at_once_process_each_event_once(empty_redis, handles):
    sender, lock, done = make_sender(concurrency=3), threading.Lock(), []
    running, most = [], [0]

    @handles(sender)
    def note(event):
        with lock:
            running.append(event.id)
            most[0] = max(most[0], len(running))
        Group.objects.create(name=event.id)
        with lock:
            running.remove(event.id)
            done.append(event.id)

    ids = [f"msg_{number}" for number in range(40)]
    for id in ids:
        sender.post(id=id)

    def worker():
        while ReceivedEvent.objects.exclude(status="processed").exists():
            process(sender.source.pk)
        connection.close()

    threads = [threading.Thread(target=worker) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(done) == sorted(ids)
    assert Group.objects.count() == 40
    assert 1 < most[0] <= 3


def test_a_worker_that_is_told_to_stop_begins_no_event(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post(id="msg_1")
    stopping.set()
    try:
        assert work(sender) == 0
    finally:
        stopping.clear()

    assert sender.event("msg_1").status == "received"


def test_a_task_whose_time_is_up_calls_the_next(sender, handles, monkeypatch):
    handles(sender)(lambda event: None)
    rung = []
    monkeypatch.setattr(dispatch, "wake", lambda ids: rung.append(ids))
    times = iter([0.0, 0.0, 100.0])
    for _ in range(2):
        sender.post()
    rung.clear()

    assert process(sender.source.pk, clock=lambda: next(times)) == 1
    assert rung[-1] == [sender.source.pk]


def test_the_due_sweep_rings_for_what_nobody_rang_for(sender, monkeypatch):
    sender.post()
    rung: list[list[int]] = []
    monkeypatch.setattr(dispatch, "wake", rung.append)

    due.sweep()

    assert rung == [[sender.source.pk]]


class TestFetchOnReceipt:
    @pytest.fixture
    def fetches(self):
        return []

    @pytest.fixture
    def sender(self, new_sender, handles, fetches):
        made = new_sender()

        def fetch(event):
            fetches.append(event.id)
            return {"name": f"fetched for {event.id}"}

        @handles(made, fetch=fetch, object_key=lambda event: event.data["data"]["object"])
        def keep(event, answer):
            Group.objects.update_or_create(name=f"object-{event.data['data']['object']}", defaults={})

        return made

    def test_a_burst_for_one_object_is_one_fetch(self, sender, work, fetches):
        for number in range(5):
            sender.post({"object": 1}, id=f"a{number}")
        sender.post({"object": 2}, id="b")
        # All arrived before the first fetch began.
        ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(minutes=1))

        work(sender)

        assert fetches == ["a0", "b"]
        assert set(ReceivedEvent.objects.values_list("status", flat=True)) == {"processed"}
        assert ReceivedEvent.objects.filter(reason=COVERED).count() == 4

    def test_an_event_that_arrives_after_the_fetch_began_gets_its_own(self, sender, work, fetches):
        sender.post({"object": 1}, id="a")
        work(sender)
        ReceivedEvent.objects.update(received_at=timezone.now())
        FetchedObject.objects.update(fetched_at=timezone.now() - timedelta(minutes=1))
        sender.post({"object": 1}, id="b")
        work(sender)

        assert fetches == ["a", "b"]

    def test_a_fetch_that_is_overtaken_by_a_newer_one_changes_nothing(self, new_sender, handles, work):
        sender, kept = new_sender(), []

        def slow_fetch(event):
            # Meanwhile another worker fetched later and applied its answer.
            FetchedObject.objects.create(
                source=sender.source, key="1", fetched_at=timezone.now() + timedelta(seconds=5)
            )
            return "old"

        handles(sender, fetch=slow_fetch, object_key=lambda event: "1")(lambda event, answer: kept.append(answer))
        sender.post(id="a")
        work(sender)

        assert (kept, sender.event("a").status, sender.event("a").reason) == ([], "processed", COVERED)


def test_an_event_that_waited_for_days_is_processed_whatever_its_timestamp(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post(id="msg_1")
    ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(days=15))

    work(sender)

    assert sender.event("msg_1").status == "processed"


def test_a_handler_may_say_that_its_event_is_stale(sender, handles, work):
    handles(sender)(lambda event: Result.STALE)
    sender.post(id="msg_1")

    work(sender)

    assert sender.event("msg_1").status == "stale"


def test_a_disabled_source_still_processes_what_it_has(sender, handles, work):
    handles(sender)(lambda event: None)
    sender.post(id="msg_1")
    Source.objects.update(enabled=False)

    work(sender)

    assert sender.event("msg_1").status == "processed"
