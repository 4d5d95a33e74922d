"""Publishers to the same ordered endpoints take turns, and where two could wait for each other for ever none does."""

from threading import Barrier
from threading import Event as Signal
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection, transaction

from deliveries import publish, publish_many, publishing
from deliveries.errors import InvalidEvent
from deliveries.models import Delivery, Event
from tests.factories import make_endpoint
from tests.integration.deliveries.test_racing import in_another_connection, somebody_waits_for_a_lock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

HELD = """
SELECT objid::int FROM pg_locks
WHERE locktype = 'advisory' AND classid = (hashtext('holdfast.ordered')::bigint & 4294967295)::oid
  AND granted AND pid = %s ORDER BY objid::int
"""


@pytest.fixture
def endpoints():
    """Two ordered ones, each with a type of its own."""
    return [make_endpoint(ordered=True, event_types=[type]).pk for type in ("a.one", "a.two")]


def pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def held(by: int) -> list[int]:
    """The ordered endpoints whose turn a connection has."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, [by])
        return [row[0] for row in cursor.fetchall()]


def one_and_two(*types: str):
    return [{"type": type, "data": {}} for type in types]


def test_a_big_publish_many_has_all_its_turns_before_its_first_event(endpoints):
    seen, insert = [], publishing._insert

    def looking(events):
        seen.append(held(pid()))
        return insert(events)

    with patch.multiple(publishing, EVENTS_PER_STATEMENT=1, _insert=looking):
        publish_many(one_and_two("a.two", "a.one"))

    assert seen == [endpoints, endpoints]


def test_turns_are_taken_in_the_order_of_the_endpoints_whatever_that_of_the_events(endpoints):
    """While the first endpoint's turn is another's, nobody who waits for it holds the second's."""
    first, second = endpoints
    backend: list[int] = []
    waiting, looked = Signal(), Signal()

    def rival() -> None:
        backend.append(pid())
        waiting.set()
        publish_many(one_and_two("a.two", "a.one"))

    with transaction.atomic():
        publish("a.one", {})
        assert held(pid()) == [first]
        thread = in_another_connection(rival)
        assert waiting.wait(10)
        while not somebody_waits_for_a_lock():
            pass
        assert second not in held(backend[0])
        looked.set()
    thread.join(10)

    assert Event.objects.count() == Delivery.objects.count() == 3


@pytest.mark.parametrize(
    "wrong", [{"type": "a b"}, {"type": "a\0"}, {"type": "a", "tenant": "\0"}, {"type": ["a"]}, {}]
)
def test_what_cannot_be_published_is_refused_with_its_place_also_in_a_big_call(endpoints, wrong):
    with (
        patch.object(publishing, "EVENTS_PER_STATEMENT", 1),
        pytest.raises(InvalidEvent, match=r"events\[1\]"),
    ):
        publish_many([*one_and_two("a.one"), {"data": {}} | wrong])

    assert not Event.objects.exists()


def test_of_two_transactions_whose_calls_cross_one_is_rolled_back_whole_and_can_be_run_again(endpoints):
    both_began = Barrier(2, timeout=10)
    failed: dict[tuple[str, str], str] = {}

    def transfer(types: tuple[str, str]) -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '20ms'")
            publish(types[0], {})
            both_began.wait()
            publish(types[1], {})

    def attempt(types: tuple[str, str]) -> None:
        try:
            transfer(types)
        except OperationalError as error:
            failed[types] = str(error)

    thread = in_another_connection(lambda: attempt(("a.one", "a.two")))
    attempt(("a.two", "a.one"))
    thread.join(10)

    ((types, error),) = failed.items()
    assert "deadlock" in error
    assert Event.objects.count() == Delivery.objects.count() == 2
    publish_many(one_and_two(*types))
    for endpoint in endpoints:
        sequences = Delivery.objects.filter(endpoint=endpoint).order_by("pk").values_list("event__sequence", flat=True)
        assert list(sequences) == sorted(sequences)
