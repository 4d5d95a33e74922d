"""A drain from claim to record, with real rows and real pacing, when things around it break or change."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from redis import RedisError

from deliveries import dispatch, pacing, publish_many
from deliveries.conf import conf
from deliveries.deliver import deliver
from deliveries.drain import drain as module
from deliveries.drain import due as looks
from deliveries.drain import sending
from deliveries.models import Attempt, DeadLetter, Delivery
from deliveries.outcomes import Exchange
from deliveries.pacing import rules
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from deliveries.sweeps import due
from deliveries.transitions import hand_back as moves
from deliveries.transitions import settle as settling
from deliveries.transport import MemoryTransport, Request
from endpoints import availability
from endpoints.models import Endpoint, RetryPolicy, SigningSecret, State
from tests.broker import away
from tests.factories import make_endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

WAIT_SECONDS = 10.0


@pytest.fixture(autouse=True)
def going_on() -> Iterator[None]:
    """A test that stops the sending or breaks its connection does so for itself alone."""
    yield
    sending.stopping.clear()
    connection.close()


@pytest.fixture
def handed_back(monkeypatch) -> threading.Event:
    """Set once the drain has handed deliveries back; what a request can wait for that must not be the last but one."""
    done = threading.Event()
    hand_back = moves.hand_back

    def notice(rows) -> int:
        count = hand_back(rows)
        if count:
            done.set()
        return count

    monkeypatch.setattr(module, "hand_back", notice)
    return done


def publish(count: int, endpoint: Endpoint) -> list[Delivery]:
    """Deliveries that nobody was rung for."""
    publish_many(
        {"type": "payment.completed", "data": {"number": number}, "tenant": endpoint.tenant} for number in range(count)
    )
    redis_client().flushdb()
    return list(Delivery.objects.filter(endpoint=endpoint, status="pending").order_by("pk"))


def statuses(endpoint: Endpoint) -> dict[str, int]:
    found: dict[str, int] = {}
    for status in Delivery.objects.filter(endpoint=endpoint).values_list("status", flat=True):
        found[status] = found.get(status, 0) + 1
    return found


def answering(act: Callable[[int], None], status: int = 200) -> MemoryTransport:
    """Answers every request after `act(number of the request, from 1)`."""
    numbers = iter(range(1, 10_000))
    lock = threading.Lock()

    def answer(request: Request) -> Exchange:
        with lock:
            number = next(numbers)
        act(number)
        return Exchange(status_code=status)

    return MemoryTransport(answer)


def end_this_session() -> None:
    """Let the server end our session, as when it is restarted: we find out with the next statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (ours,) = cursor.fetchone()

    def end() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ours])
        connection.close()

    other = threading.Thread(target=end)
    other.start()
    other.join()


def is_leased_to_a_worker(endpoint: Endpoint) -> bool:
    return bool(redis_client().exists(*keys(endpoint.pk, "lease")))


class TestDraining:
    def test_everything_due_is_sent_once_and_recorded(self):
        endpoint = make_endpoint()
        deliveries = publish(50, endpoint)
        receiver = MemoryTransport()

        assert deliver([endpoint.pk], transport=receiver) == {}

        sent = sorted(request.headers["webhook-id"] for request in receiver.requests)
        assert sent == sorted(delivery.event_id for delivery in deliveries)
        assert statuses(endpoint) == {Status.DELIVERED: 50}
        assert Attempt.objects.filter(number=1, outcome="delivered").count() == 50

    def test_several_endpoints_are_drained_side_by_side(self):
        fast, slow = make_endpoint(tenant="fast"), make_endpoint(tenant="slow")
        publish(20, fast)
        publish(1, slow)
        fast_is_through = threading.Event()
        receiver = MemoryTransport()

        def wait_for_fast(_request: Request) -> Exchange:
            assert fast_is_through.wait(WAIT_SECONDS)
            return Exchange(status_code=200)

        receiver.script(slow.url, wait_for_fast)
        receiver.script(fast.url, lambda _request: _last_of_20(receiver, fast, fast_is_through))
        deliver([fast.pk, slow.pk], transport=receiver)

        assert statuses(fast) == {Status.DELIVERED: 20}
        assert statuses(slow) == {Status.DELIVERED: 1}

    def test_an_endpoint_is_free_for_the_next_worker_afterwards(self):
        endpoint = make_endpoint()
        publish(1, endpoint)

        deliver([endpoint.pk], transport=MemoryTransport())

        assert not is_leased_to_a_worker(endpoint)

    def test_results_are_recorded_in_bulk(self, monkeypatch):
        endpoint = make_endpoint()
        publish(200, endpoint)
        statements: list[str] = []
        move = settling._move

        def count(payload: str) -> dict[int, Any]:
            statements.append(payload)
            return move(payload)

        monkeypatch.setattr(settling, "_move", count)

        deliver([endpoint.pk], transport=MemoryTransport())

        assert statuses(endpoint) == {Status.DELIVERED: 200}
        assert len(statements) <= 20


class TestTransientFailures:
    def test_a_near_retry_is_handed_to_the_caller_as_a_wait(self):
        policy = RetryPolicy.objects.create(name="in 60 s", kind="schedule", schedule_seconds=[60], max_attempts=3)
        endpoint = make_endpoint(retry_policy=policy)
        publish(1, endpoint)

        waits = deliver([endpoint.pk], transport=MemoryTransport(500))

        assert waits == {endpoint.pk: pytest.approx(60, abs=2)}

    def test_a_far_one_is_left_to_the_sweep(self):
        policy = RetryPolicy.objects.create(name="in 600 s", kind="schedule", schedule_seconds=[600], max_attempts=3)
        endpoint = make_endpoint(retry_policy=policy)
        (delivery,) = publish(1, endpoint)

        assert deliver([endpoint.pk], transport=MemoryTransport(500)) == {}

        assert due.sweep().rung == 0
        Delivery.objects.filter(pk=delivery.pk).update(next_attempt_at=timezone.now())
        assert due.sweep().rung == 1

    def test_the_default_policy_makes_sixteen_attempts_then_one_dead_letter(self):
        endpoint = make_endpoint()
        (delivery,) = publish(1, endpoint)
        waits = []
        for _ in range(16):
            deliver([endpoint.pk], transport=MemoryTransport(500))
            delivery.refresh_from_db()
            if delivery.next_attempt_at:
                waits.append((delivery.next_attempt_at - timezone.now()).total_seconds())
            Delivery.objects.filter(pk=delivery.pk, status="pending").update(next_attempt_at=timezone.now())
            pacing.resume(endpoint.pk, "the test moves time", afresh=True)

        assert delivery.status == Status.DEAD
        assert list(Attempt.objects.order_by("number").values_list("number", flat=True)) == list(range(1, 17))
        assert DeadLetter.objects.count() == 1
        for retry, wait in enumerate(waits):
            assert -1 < wait <= min(43_200, 30 * 2**retry)

    def test_failures_in_a_row_open_the_circuit_and_the_rest_spends_no_attempt(self):
        endpoint = make_endpoint(max_concurrency=1)
        publish(20, endpoint)

        waits = deliver([endpoint.pk], transport=MemoryTransport(500))

        assert Attempt.objects.count() == rules.OPEN_STREAK
        assert Delivery.objects.filter(attempt_count=0, status="pending").count() == 20 - rules.OPEN_STREAK
        assert pacing.describe([endpoint.pk])[endpoint.pk].circuit == "open"
        assert rules.FIRST_OPEN_SECONDS * 0.8 < waits[endpoint.pk] <= rules.FIRST_OPEN_SECONDS * 1.25

    def test_every_second_one_failing_opens_it_as_well(self):
        endpoint = make_endpoint(max_concurrency=1)
        publish(300, endpoint)
        numbers = iter(range(300))
        nobody_sets_it = threading.Event()

        def answer(_request: Request) -> Exchange:
            # The circuit is judged at every recording: give it the time for one.
            nobody_sets_it.wait(0.02)
            return Exchange(status_code=200 if next(numbers) % 2 else 500)

        receiver = MemoryTransport(answer)

        deliver([endpoint.pk], transport=receiver)

        assert rules.OPEN_SAMPLES <= len(receiver.requests) < 300
        assert pacing.describe([endpoint.pk])[endpoint.pk].circuit == "open"
        assert Delivery.objects.filter(attempt_count=0, status="pending").count() == 300 - len(receiver.requests)

    def test_a_probe_that_comes_through_lets_the_rest_follow_in_the_same_drain(self):
        endpoint = make_endpoint()
        publish(10, endpoint)
        an_hour_ago = round((timezone.now() - timedelta(hours=1)).timestamp() * 1000)
        pacing.report({endpoint.pk: pacing.Tally(bad=5, streak=5)}, now_ms=an_hour_ago)

        deliver([endpoint.pk], transport=MemoryTransport())

        assert statuses(endpoint) == {Status.DELIVERED: 10}
        assert pacing.describe([endpoint.pk])[endpoint.pk].circuit == "closed"

    def test_a_probe_that_fails_is_the_only_request(self):
        endpoint = make_endpoint()
        publish(10, endpoint)
        an_hour_ago = round((timezone.now() - timedelta(hours=1)).timestamp() * 1000)
        pacing.report({endpoint.pk: pacing.Tally(bad=5, streak=5)}, now_ms=an_hour_ago)
        receiver = MemoryTransport(500)

        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == 1
        assert pacing.describe([endpoint.pk])[endpoint.pk].circuit == "open"

    def test_a_throttled_endpoint_is_left_alone_for_as_long_as_it_asked(self):
        endpoint = make_endpoint(max_concurrency=1)
        publish(5, endpoint)
        receiver = MemoryTransport(lambda _request: Exchange(status_code=429, retry_after="30"))

        waits = deliver([endpoint.pk], transport=receiver)
        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == 1
        assert 28 < waits[endpoint.pk] <= 30
        assert Delivery.objects.filter(attempt_count=0, status="pending").count() == 4

    def test_a_failing_endpoint_is_rung_for_on_the_slow_queue_until_it_is_well(self):
        endpoint = make_endpoint()
        publish(1, endpoint)

        deliver([endpoint.pk], transport=MemoryTransport(500))
        assert dispatch.silence([endpoint.pk]) == {endpoint.pk}

        publish(3, endpoint)
        deliver([endpoint.pk], transport=MemoryTransport())
        assert dispatch.silence([endpoint.pk]) == set()


class TestStopping:
    def test_told_to_stop_it_hands_back_what_it_has_not_sent(self, handed_back):
        endpoint = make_endpoint(max_concurrency=1)
        publish(10, endpoint)

        def stop_at_the_third(number: int) -> None:
            if number == 3:
                sending.stopping.set()
                assert handed_back.wait(WAIT_SECONDS)

        receiver = answering(stop_at_the_third)
        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == 3
        assert statuses(endpoint) == {Status.DELIVERED: 3, Status.PENDING: 7}
        assert Delivery.objects.filter(status="pending", attempt_count=0, lease_token=None).count() == 7
        assert not is_leased_to_a_worker(endpoint)
        # Somebody else goes on at once.
        assert redis_client().llen("deliveries") == 1

    def test_when_its_time_is_over_it_hands_over_to_the_next(self, settings, monkeypatch, handed_back):
        settings.HOLDFAST = {**settings.HOLDFAST, "TASK_BUDGET_SECONDS": 0.2}
        monkeypatch.setattr(module, "LEAST_SENDING_SECONDS", 0.1)
        endpoint = make_endpoint(max_concurrency=1)
        publish(10, endpoint)

        receiver = answering(lambda _number: _require(handed_back.wait(WAIT_SECONDS)))
        deliver([endpoint.pk], transport=receiver)

        assert statuses(endpoint) == {Status.DELIVERED: 1, Status.PENDING: 9}
        assert Delivery.objects.filter(status="pending", attempt_count=0).count() == 9
        assert redis_client().llen("deliveries") == 1

    def test_an_endpoint_paused_meanwhile_gets_no_more_than_what_is_in_flight(self, monkeypatch, handed_back):
        monkeypatch.setattr(module, "CONFIG_SECONDS", 0.0)
        endpoint = make_endpoint(max_concurrency=1)
        publish(10, endpoint)

        def pause_at_the_second(number: int) -> None:
            if number == 2:
                # In the thread of this request, over a connection of its own.
                availability.pause(endpoint.pk, actor="a test", reason="maintenance")
                connection.close()
                assert handed_back.wait(WAIT_SECONDS)

        receiver = answering(pause_at_the_second)
        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == 2
        assert statuses(endpoint) == {Status.DELIVERED: 2, Status.PENDING: 8}

    def test_one_that_is_gone_is_disabled_and_keeps_what_was_not_sent(self):
        endpoint = make_endpoint(max_concurrency=1)
        publish(5, endpoint)

        deliver([endpoint.pk], transport=MemoryTransport(410))

        endpoint.refresh_from_db()
        assert endpoint.state == State.DISABLED
        assert statuses(endpoint) == {Status.DEAD: 1, Status.PENDING: 4}


class TestAnotherWorker:
    def test_an_endpoint_that_another_one_drains_is_left_to_it_and_it_is_told(self):
        endpoint = make_endpoint()
        publish(3, endpoint)
        pacing.take("another drain", {endpoint.pk: (1, None)})
        receiver = MemoryTransport()

        assert deliver([endpoint.pk], transport=receiver) == {}

        assert receiver.requests == []
        assert statuses(endpoint) == {Status.PENDING: 3}
        assert pacing.leave("another drain", [endpoint.pk]) == {endpoint.pk}

    def test_who_was_knocked_at_rings_again_when_it_leaves(self):
        endpoint = make_endpoint()
        publish(1, endpoint)

        def knock(_number: int) -> None:
            assert pacing.take("another drain", {endpoint.pk: (1, None)})[endpoint.pk].is_busy

        deliver([endpoint.pk], transport=answering(knock))

        assert redis_client().llen("deliveries") == 1

    def test_it_rings_at_once_and_not_only_when_the_slowest_endpoint_of_the_drain_is_done(self, monkeypatch):
        quick, slow = make_endpoint(tenant="quick"), make_endpoint(tenant="slow")
        publish(1, quick)
        publish(1, slow)
        rung = threading.Event()
        monkeypatch.setattr(dispatch, "wake", lambda ids: rung.set() if quick.pk in ids else None)
        waited = []

        def answer(request: Request) -> Exchange:
            if request.url == quick.url:
                pacing.take("another drain", {quick.pk: (1, None)})
            else:
                waited.append(rung.wait(WAIT_SECONDS))
            return Exchange(status_code=200)

        deliver([quick.pk, slow.pk], transport=MemoryTransport(answer))

        assert waited == [True]

    def test_the_longest_request_is_over_before_the_endpoint_passes_to_another(self):
        longest_timeout = 30
        last_start = max(conf().task_budget_seconds - longest_timeout, module.LEAST_SENDING_SECONDS)

        assert last_start + longest_timeout < rules.LEASE_SECONDS
        assert conf().task_budget_seconds < rules.LEASE_SECONDS


class TestABrokenDatabase:
    def test_a_session_ended_between_request_and_record_costs_no_result(self, monkeypatch):
        endpoint = make_endpoint()
        publish(5, endpoint)
        broken: list[int] = []
        move = settling._move

        def break_once(payload: str) -> dict[int, Any]:
            if not broken:
                broken.append(1)
                end_this_session()
            return move(payload)

        monkeypatch.setattr(settling, "_move", break_once)
        receiver = MemoryTransport()
        deliver([endpoint.pk], transport=receiver)

        assert broken
        assert len(receiver.requests) == 5
        assert statuses(endpoint) == {Status.DELIVERED: 5}

    def test_a_database_that_takes_no_writes_for_a_while_gets_the_results_afterwards(self, monkeypatch):
        endpoint = make_endpoint()
        publish(5, endpoint)
        receiver = answering(lambda number: None)
        refused: list[int] = []
        move = settling._move

        def refuse_twice(payload: str) -> dict[int, Any]:
            if len(refused) < 2:
                refused.append(1)
                with connection.cursor() as cursor:
                    # What a full disk or a standby looks like to a writer.
                    cursor.execute("SET default_transaction_read_only = on")
            return move(payload)

        monkeypatch.setattr(settling, "_move", refuse_twice)
        deliver([endpoint.pk], transport=receiver)

        assert len(refused) == 2
        assert len(receiver.requests) == 5
        assert statuses(endpoint) == {Status.DELIVERED: 5}
        assert Attempt.objects.count() == 5

    def test_what_waits_is_not_sent_while_results_cannot_be_recorded(self, monkeypatch, handed_back):
        endpoint = make_endpoint(max_concurrency=1)
        publish(10, endpoint)
        move = settling._move

        def refuse_until_the_rest_is_back(payload: str) -> dict[int, Any]:
            if not handed_back.is_set():
                raise OperationalError("No space left on device")
            return move(payload)

        def linger_over_the_second(number: int) -> None:
            if number == 2:
                assert handed_back.wait(WAIT_SECONDS)

        monkeypatch.setattr(settling, "_move", refuse_until_the_rest_is_back)
        receiver = answering(linger_over_the_second)
        deliver([endpoint.pk], transport=receiver)

        assert len(receiver.requests) == 2
        assert statuses(endpoint) == {Status.DELIVERED: 2, Status.PENDING: 8}
        assert not Delivery.objects.filter(status="pending", attempt_count__gt=0).exists()

    def test_a_session_ended_before_a_hand_back_costs_no_attempt(self, monkeypatch, handed_back):
        endpoint = make_endpoint(max_concurrency=1)
        publish(10, endpoint)
        broken: list[int] = []
        notice_and_hand_back = getattr(module, "hand_back")  # noqa: B009 - the one that `handed_back` put there

        def break_once(rows) -> int:
            if rows and not broken:
                broken.append(1)
                end_this_session()
            return int(notice_and_hand_back(rows))

        def stop(_number: int) -> None:
            sending.stopping.set()
            assert handed_back.wait(WAIT_SECONDS)

        monkeypatch.setattr(module, "hand_back", break_once)
        deliver([endpoint.pk], transport=answering(stop))

        assert broken
        assert statuses(endpoint) == {Status.DELIVERED: 1, Status.PENDING: 9}
        assert Delivery.objects.filter(status="pending", attempt_count=0).count() == 9

    def test_a_session_ended_while_one_endpoint_is_left_does_not_lose_the_results_of_another(self, monkeypatch):
        first, second = make_endpoint(tenant="first"), make_endpoint(tenant="second")
        publish(1, first)
        publish(40, second)
        broken = threading.Event()
        seconds_until_due = looks.seconds_until_due

        def break_once(ids) -> dict[int, float]:
            if not broken.is_set():
                end_this_session()
                broken.set()
            return seconds_until_due(ids)

        monkeypatch.setattr(module, "seconds_until_due", break_once)
        receiver = MemoryTransport()

        def answer_when_it_is_broken(_request: Request) -> Exchange:
            assert broken.wait(WAIT_SECONDS)
            return Exchange(status_code=200)

        receiver.script(second.url, answer_when_it_is_broken)
        deliver([first.pk, second.pk], transport=receiver)

        assert len(receiver.requests_to(second.url)) == 40
        assert statuses(second) == {Status.DELIVERED: 40}


class TestBrokenPacing:
    def test_without_redis_nothing_begins_and_nothing_is_claimed(self):
        endpoint = make_endpoint()
        publish(1, endpoint)
        receiver = MemoryTransport()

        with away(), pytest.raises(RedisError):
            deliver([endpoint.pk], transport=receiver)

        assert receiver.requests == []
        assert statuses(endpoint) == {Status.PENDING: 1}

    def test_redis_going_away_in_the_middle_costs_no_result(self):
        endpoint = make_endpoint(max_concurrency=1)
        publish(3, endpoint)
        leaving = away()

        def break_at_the_second(number: int) -> None:
            if number == 2:
                leaving.__enter__()

        try:
            receiver = answering(break_at_the_second)
            deliver([endpoint.pk], transport=receiver)
        finally:
            leaving.__exit__(None, None, None)

        assert len(receiver.requests) == 3
        assert statuses(endpoint) == {Status.DELIVERED: 3}


class TestOurOwnFaults:
    def test_an_endpoint_without_a_live_secret_gets_nothing_and_is_not_blamed(self):
        endpoint = make_endpoint()
        publish(1, endpoint)
        SigningSecret.objects.filter(endpoint=endpoint).update(
            created_at=timezone.now() - timedelta(days=2), expires_at=timezone.now() - timedelta(days=1)
        )
        receiver = MemoryTransport()

        deliver([endpoint.pk], transport=receiver)

        assert receiver.requests == []
        assert DeadLetter.objects.get().failure_class == "internal"
        assert pacing.describe([endpoint.pk])[endpoint.pk].failures_in_a_row == 0

    def test_a_secret_that_cannot_be_decrypted_does_not_keep_other_endpoints_waiting(self):
        broken, healthy = make_endpoint(tenant="broken"), make_endpoint(tenant="healthy")
        publish(1, broken)
        publish(3, healthy)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE endpoints_signingsecret SET secret = 'rubbish' WHERE endpoint_id = %s", [broken.pk])

        deliver([broken.pk, healthy.pk], transport=MemoryTransport())

        assert statuses(healthy) == {Status.DELIVERED: 3}
        assert Status.DELIVERED not in statuses(broken)

    def test_a_transport_that_breaks_is_our_fault_and_a_dead_letter(self):
        endpoint = make_endpoint()
        publish(1, endpoint)

        def explode(_request: Request) -> Exchange:
            raise ZeroDivisionError("https://a.example/SECRET")

        deliver([endpoint.pk], transport=MemoryTransport(explode))

        letter = DeadLetter.objects.get()
        assert letter.failure_class == "internal"
        assert "ZeroDivisionError" in letter.reason
        assert "SECRET" not in letter.reason


def _last_of_20(receiver: MemoryTransport, endpoint: Endpoint, is_through: threading.Event) -> Exchange:
    if len(receiver.requests_to(endpoint.url)) == 20:
        is_through.set()
    return Exchange(status_code=200)


def _require(condition: bool) -> None:
    assert condition
