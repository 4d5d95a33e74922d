"""The sweeps find what a lost message left behind, page by page, and safely twice."""

import logging
from datetime import timedelta

import pytest
import redis
from django.db import connection

from deliveries import dispatch, pacing, tasks
from deliveries.models import DeadLetter, Delivery, Event
from deliveries.redis_client import redis_client
from deliveries.statuses import Status
from deliveries.sweeps import due, expired, lapsed, unannounced
from deliveries.watch import attended, overdue
from endpoints import availability
from tests.factories import backdate, lease, make_dead_letter, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


@pytest.fixture
def announced(monkeypatch):
    batches = []
    monkeypatch.setattr(dispatch, "announce", lambda ids: batches.append(list(ids)))
    return batches


def bells():
    return {int(str(key).split("{")[1].split("}")[0]) for key in redis_client().keys("holdfast:*:bell")}


def due_delivery(endpoint, overdue: timedelta = timedelta(minutes=1)) -> Delivery:
    delivery = make_event(tenant=endpoint.tenant).deliveries.get(endpoint=endpoint)
    backdate(delivery, next_attempt_at=overdue)
    return delivery


def test_the_due_sweep_rings_for_active_endpoints_with_due_work_and_no_others():
    wanted, paused, later = (make_endpoint(tenant=tenant) for tenant in "abc")
    due_delivery(wanted)
    due_delivery(wanted)
    due_delivery(paused)
    availability.pause(paused, actor="ops", reason="maintenance")
    due_delivery(later, overdue=timedelta(hours=-1))

    swept = due.sweep()

    assert bells() == {wanted.pk}
    assert (swept.due, swept.rung) == (1, 1)
    assert due.sweep().rung == 0


def test_overdue_work_nobody_rang_for_is_counted_and_said(caplog):
    due_delivery(make_endpoint(), overdue=timedelta(minutes=1))

    with caplog.at_level(logging.WARNING):
        swept = due.sweep()

    assert swept.unattended == 1
    assert "found work nobody rang for" in caplog.text


@pytest.mark.parametrize("sign", ["bell", "timer", "drain", "hold"])
def test_work_that_somebody_attends_to_raises_no_alarm(sign):
    endpoint = make_endpoint()
    due_delivery(endpoint, overdue=timedelta(minutes=1))
    {
        "bell": lambda: dispatch.wake([endpoint.pk]),
        "timer": lambda: dispatch.set_timers({endpoint.pk: 5.0}),
        "drain": lambda: pacing.take("a-drain", {endpoint.pk: (1, None)}),
        "hold": lambda: pacing.report({endpoint.pk: pacing.Tally(hold_seconds=5.0)}),
    }[sign]()

    assert due.sweep().unattended == 0


def test_a_held_endpoint_is_not_rung_and_its_overdue_work_raises_no_alarm_when_the_hold_ends():
    endpoint = make_endpoint()
    due_delivery(endpoint, overdue=timedelta(minutes=1))
    pacing.report({endpoint.pk: pacing.Tally(hold_seconds=300.0)})

    assert due.sweep().rung == 0
    pacing.resume(endpoint.pk, "test", afresh=True)
    swept = due.sweep()

    assert (swept.rung, swept.unattended) == (1, 0)


def test_an_ordered_endpoint_is_not_rung_while_the_head_of_its_sequence_waits():
    endpoint = make_endpoint(ordered=True)
    head = due_delivery(endpoint, overdue=timedelta(hours=-1))
    due_delivery(endpoint)

    assert due.sweep().rung == 0
    backdate(head, next_attempt_at=timedelta(minutes=2))
    swept = due.sweep()

    assert (swept.rung, swept.unattended) == (1, 0)


def test_a_redis_that_is_away_raises_no_alarm_and_no_error(monkeypatch):
    due_delivery(make_endpoint(), overdue=timedelta(minutes=1))
    unreachable = redis.Redis(host="127.0.0.1", port=1)
    monkeypatch.setattr(attended, "redis_client", lambda: unreachable)
    monkeypatch.setattr(dispatch, "redis_client", lambda: unreachable)

    swept = due.sweep()

    assert (swept.due, swept.rung, swept.unattended) == (1, 0, 0)


def test_the_due_sweep_reads_the_due_index_and_not_the_rows():
    endpoints = [make_endpoint(tenant=str(number)) for number in range(3)]
    event = make_event()
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)
            SELECT 'bulk-' || n, type, tenant, -n, occurred_at, created_at, body, fingerprint
            FROM deliveries_event, generate_series(1, 7000) n WHERE id = %s
            """,
            [event.pk],
        )
        cursor.execute(
            """
            INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset,
                                             next_attempt_at, deadline_at, last_outcome, created_at)
            SELECT event.id, endpoint.id, 'pending', 0, 0, now(), now() + interval '1 day', '', now()
            FROM deliveries_event event, unnest(%s) AS endpoint(id) WHERE event.id LIKE 'bulk-%%'
            """,
            [[endpoint.pk for endpoint in endpoints]],
        )
        cursor.execute("ANALYZE deliveries_delivery")
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) " + overdue.DUE_ENDPOINTS)
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert Event.objects.count() == 7001
    assert plan.count("using delivery_due on deliveries_delivery") == 2, plan
    assert "Seq Scan on deliveries_delivery" not in plan
    assert due.sweep().due == 3


def test_lapsed_leases_are_taken_back_page_by_page(announced):
    endpoint = make_endpoint()
    for _ in range(5):
        lease(due_delivery(endpoint), expires_in=timedelta(minutes=-1))

    swept = lapsed.sweep(page=2)

    assert (swept.lapsed, swept.dead, swept.is_complete) == (5, 0, True)
    assert not Delivery.objects.filter(status=Status.SENDING).exists()
    assert lapsed.sweep().lapsed == 0


def test_expired_and_archived_deliveries_are_buried_and_announced(announced):
    gone, endpoint = make_endpoint(tenant="a"), make_endpoint(tenant="b")
    due_delivery(gone)
    availability.archive(gone, actor="ops", reason="customer left")
    for _ in range(3):
        backdate(due_delivery(endpoint), deadline_at=timedelta(minutes=1))

    swept = expired.sweep(page=2)

    assert (swept.expired, swept.archived, swept.is_complete) == (3, 1, True)
    assert sorted(id for batch in announced for id in batch) == sorted(DeadLetter.objects.values_list("pk", flat=True))


def test_dead_letters_nobody_was_told_about_are_announced_after_a_minute(announced):
    old, _young, told = (make_dead_letter(make_endpoint(tenant=tenant)) for tenant in "abc")
    minute_ago = old.created_at - timedelta(seconds=unannounced.AGE_SECONDS + 1)
    DeadLetter.objects.filter(pk__in=[old.pk, told.pk]).update(created_at=minute_ago)
    DeadLetter.objects.filter(pk=told.pk).update(announced_at=minute_ago)

    assert unannounced.sweep().announced == 1
    assert announced == [[old.pk]]


def test_the_tasks_beat_calls_exist_under_their_names(announced, settings):
    names = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values() if entry["task"].startswith("deliv")}

    registered = {task.name: task for task in vars(tasks).values() if hasattr(task, "name")}
    assert names <= set(registered)
    for name in names:
        registered[name].apply(throw=True)
