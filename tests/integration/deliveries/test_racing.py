"""Two at once on the real database: publishers of one id, workers of one endpoint."""

from collections.abc import Callable
from threading import Event as Signal
from threading import Thread

import pytest
from django.db import connection, transaction

from deliveries import publish
from deliveries.models import Delivery, Event
from deliveries.transitions.claim import Wish, claim
from tests.factories import make_endpoint, make_event

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]


def in_another_connection(work: Callable[[], None]) -> Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


def somebody_waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return bool(cursor.fetchone()[0])


def test_two_transactions_that_publish_one_id_make_one_event():
    make_endpoint()
    inserted = Signal()
    rivals: list[Event] = []

    def rival() -> None:
        with transaction.atomic():
            rivals.append(publish("payment.completed", {"amount": 1}, id="order-1"))
            inserted.set()
            # Keep the row uncommitted until the other one has run into it.
            while not somebody_waits_for_a_lock():
                pass

    thread = in_another_connection(rival)
    assert inserted.wait(10)
    mine = publish("payment.completed", {"amount": 1}, id="order-1")
    thread.join(10)

    assert mine.body == rivals[0].body
    assert Event.objects.count() == Delivery.objects.count() == 1


def test_two_claims_at_once_share_nothing_and_leave_nothing():
    endpoint = make_endpoint()
    for _ in range(10):
        make_event()
    claimed = Signal()
    other_is_through = Signal()
    theirs: list[int] = []

    def rival() -> None:
        with transaction.atomic():
            theirs.extend(row.id for row in claim({endpoint.pk: Wish(rows=6, lease_seconds=60)}))
            claimed.set()
            # Still uncommitted, and locked, while the other one claims.
            assert other_is_through.wait(10)

    thread = in_another_connection(rival)
    assert claimed.wait(10)
    mine = [row.id for row in claim({endpoint.pk: Wish(rows=6, lease_seconds=60)})]
    other_is_through.set()
    thread.join(10)

    assert len(theirs) == 6
    assert len(mine) == 4
    assert not set(mine) & set(theirs)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"sending"}
