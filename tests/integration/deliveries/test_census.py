"""The census: a count of what waits, taken by whoever is due to and shared with everybody who asks."""

from datetime import timedelta

import pytest
from django.db import connection

from deliveries import pacing
from deliveries.models import Delivery
from deliveries.redis_client import redis_client
from deliveries.sweeps import figures
from deliveries.watch import census as counting
from deliveries.watch import heartbeats
from deliveries.watch.census import latest, take
from deliveries.watch.survey import BOUNDED
from endpoints import availability
from tests.broker import away
from tests.factories import backdate, lease, make_dead_letter, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def due_delivery(endpoint, overdue: timedelta = timedelta(minutes=5)) -> Delivery:
    delivery = make_event(tenant=endpoint.tenant).deliveries.get(endpoint=endpoint)
    backdate(delivery, next_attempt_at=overdue)
    return delivery


def test_what_waits_is_told_from_what_is_due():
    due_delivery(make_endpoint())
    due_delivery(make_endpoint(tenant="later"), timedelta(minutes=-5))
    paused = make_endpoint(tenant="paused")
    due_delivery(paused)
    availability.pause(paused.pk, actor="a test", reason="a test")
    lease(due_delivery(make_endpoint(tenant="leased")), expires_in=timedelta(seconds=-30))

    found = take()

    assert (found.pending, found.due, found.sending, found.endpoints_due) == (3, 1, 1, 1)
    assert found.oldest_due_seconds == pytest.approx(300, abs=10)
    assert found.oldest_unattended_seconds == pytest.approx(300, abs=10)
    assert found.oldest_lapsed_lease_seconds == pytest.approx(30, abs=10)
    assert found.endpoints == {"active": 3, "paused": 1}


def test_endpoints_that_may_not_be_sent_to_are_held_and_their_work_is_not_late():
    endpoint = make_endpoint()
    due_delivery(endpoint)
    pacing.report({endpoint.pk: pacing.Tally(hold_seconds=300.0)})

    found = take()

    assert (found.due, found.endpoints_due, found.endpoints_held) == (1, 1, 1)
    assert found.oldest_due_seconds is None


def test_open_dead_letters_are_counted_by_class():
    make_dead_letter(make_endpoint())
    make_dead_letter(make_endpoint(tenant="other"))

    found = take()

    assert found.dead_letters == {"rejected": 2}
    assert found.oldest_dead_letter_seconds == pytest.approx(0, abs=10)


def test_active_endpoints_are_counted_by_health_and_by_circuit():
    make_endpoint(), make_endpoint(), make_endpoint(state="paused")

    found = take()

    assert (found.levels, found.circuits) == ({"unknown": 2}, {"closed": 2})


def test_counts_stop_at_their_bound(monkeypatch):
    monkeypatch.setattr(counting, "COUNTED", 2)
    endpoint = make_endpoint()
    for _ in range(3):
        due_delivery(endpoint)

    assert (take().pending, take().due) == (2, 2)


def test_whoever_asks_gets_the_one_that_the_sweep_took():
    endpoint = make_endpoint()
    figures.sweep()
    due_delivery(endpoint)

    found = latest()

    assert found.pending == 0
    assert 0 <= found.age_seconds < counting.FRESH_SECONDS
    assert "figures" in heartbeats.ages()


def test_one_that_is_no_longer_fresh_is_taken_anew_and_shared():
    take()
    due_delivery(make_endpoint())
    old = counting.KEEP_SECONDS - counting.FRESH_SECONDS - 1
    redis_client().pexpire(counting.KEY, int(old * 1000))

    assert latest().pending == 1
    assert latest().age_seconds < 5


def test_without_redis_whoever_asks_counts_by_themselves():
    due_delivery(make_endpoint())

    with away():
        found, taken = latest(), take()

    assert (found.pending, found.endpoints_due, found.circuits) == (1, 1, {})
    assert taken.pending == 1


@pytest.mark.parametrize("statement", ["_COUNTS", "_LETTERS"])
def test_counting_reads_indexes_of_what_waits_and_never_the_finished_rows(statement):
    with connection.cursor() as cursor:
        cursor.execute(BOUNDED, ["3000ms"])
        cursor.execute("EXPLAIN " + getattr(counting, statement), {"most": counting.COUNTED})
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "Seq Scan on deliveries" not in plan, plan
    assert "Index Only Scan" in plan
