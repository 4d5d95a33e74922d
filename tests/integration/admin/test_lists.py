"""Lists stay fast: few queries whatever the number of rows, and none that reads a whole table."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from console import tables
from deliveries.models import Delivery, Event
from deliveries.redrive import redrive
from endpoints.availability import pause
from endpoints.models import Endpoint
from tests.factories import make_dead_letter, make_delivered, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LISTS = (
    "deliveries_attempt",
    "deliveries_deadletter",
    "deliveries_delivery",
    "deliveries_event",
    "deliveries_notice",
    "deliveries_operation",
    "endpoints_endpoint",
    "endpoints_statechange",
)
MOST_QUERIES = 9  # session, user, count and estimate, rows, the two of an action's permissions, a filter's

ENDPOINTS, EVENTS = 100, 300
ROWS = ENDPOINTS * EVENTS

MOST_ROWS = tables.COUNT_CAP + ENDPOINTS + 2
"""What is counted, and the pending and dead ones that a look for delivered ones passes by."""

LIST_QUERIES = (
    "",
    "p=3",
    "o=1.-2.3",
    "status=delivered",
    "status=dead",
    "status=pending",
    "status=sending",
    "endpoint={endpoint}",
    "endpoint={endpoint}&status=pending",
    "event=evt_9",
    "event=evt_9&status=delivered",
    "q={delivery}",
    "q=evt_9",
)


def _address(name: str) -> str:
    return reverse(f"admin:{name}_changelist")


def _queries(client: Client, address: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address)
    assert response.status_code == 200
    return [query["sql"] for query in captured]


@pytest.mark.parametrize("name", LISTS)
def test_a_list_takes_the_same_few_queries_for_one_row_and_for_many(operator: Client, name: str):
    _rows_everywhere(tenant="one")
    before = _queries(operator, _address(name))
    for number in range(5):
        _rows_everywhere(tenant=f"more-{number}")

    after = _queries(operator, _address(name))

    assert len(after) <= len(before) <= MOST_QUERIES


@pytest.mark.parametrize("name", LISTS)
def test_no_list_counts_without_a_limit(operator: Client, name: str):
    _rows_everywhere(tenant="one")

    counts = [sql for sql in _queries(operator, _address(name)) if "COUNT(" in sql]

    assert counts
    assert all("LIMIT 10001" in sql for sql in counts)


@pytest.fixture
def many_deliveries(db: None, empty_redis: None) -> Event:
    """30,000 deliveries, nearly all of them delivered, and statistics that say so. The event has 100 of them."""
    for number in range(ENDPOINTS):
        make_endpoint(tenant="crowd", url=f"http://127.0.0.1:9/{number}")
    make_dead_letter(make_endpoint(tenant="dead"))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)"
            " SELECT 'evt_' || n, 'a.b', 'crowd', 1000000 + n, now(), now(), '{}', '' FROM generate_series(1, %s) n",
            [EVENTS],
        )
        cursor.execute(
            "INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset,"
            " next_attempt_at, finished_at, deadline_at, last_outcome, created_at)"
            " SELECT event.id, endpoint.id, status, 1, 0, CASE status WHEN 'pending' THEN now() END,"
            " CASE status WHEN 'delivered' THEN now() END, now(), '', now()"
            " FROM endpoints_endpoint endpoint, deliveries_event event,"
            " LATERAL (SELECT CASE event.id WHEN 'evt_7' THEN 'pending' ELSE 'delivered' END AS status) AS chosen"
            " WHERE endpoint.tenant = 'crowd' AND event.tenant = 'crowd'"
        )
        cursor.execute("ANALYZE deliveries_delivery, deliveries_event, deliveries_deadletter")
    return Event.objects.get(pk="evt_9")


def test_no_list_of_deliveries_reads_more_rows_than_it_may_count(operator: Client, many_deliveries: Event):
    delivery = Delivery.objects.filter(event=many_deliveries)[0]
    read = {query: _most_rows_read(operator, query, delivery) for query in LIST_QUERIES}

    assert {query: rows for query, rows in read.items() if rows > MOST_ROWS} == {}
    assert max(read.values()) > 0


def test_a_big_list_says_about_how_many_rows_there_are(operator: Client, many_deliveries: Event):
    address = _address("deliveries_delivery")

    pages = {
        query: operator.get(f"{address}?{query}").content.decode() for query in ("", "status=delivered", "event=evt_9")
    }

    assert f"about {ROWS + 1:,} deliveries" in pages[""]
    assert "more than 10,000 deliveries" in pages["status=delivered"]
    assert f"{ENDPOINTS} deliveries" in pages["event=evt_9"]


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("endpoints_endpoint", "url__startswith=http"),
        ("endpoints_endpoint", "headers__contains=x"),
        ("deliveries_attempt", "snippet__contains=x"),
        ("deliveries_deadletter", "body__contains=x"),
        ("deliveries_delivery", "event__body__contains=x"),
    ],
)
def test_a_list_does_not_filter_by_columns_nobody_declared(operator: Client, name: str, query: str):
    assert operator.get(f"{_address(name)}?{query}").status_code == 400


def test_the_event_list_finds_an_id_by_its_beginning(operator: Client):
    events = [make_event(id=id) for id in ("order-1", "order-2", "other-1")]

    text = operator.get(_address("deliveries_event") + "?q=order-").content.decode()

    assert [event.pk in text for event in events] == [True, True, False]


def test_only_those_who_see_urls_can_search_by_them(operator: Client, signed_in):
    make_endpoint(url="http://127.0.0.1:9/services/T0B1")

    found = [
        "http://127.0.0.1:9" in client.get(_address("endpoints_endpoint") + "?q=T0B1").content.decode()
        for client in (operator, signed_in())
    ]

    assert found == [True, False]


def test_a_list_keeps_its_order_whatever_the_address_asks_for(operator: Client):
    events = [make_event(type=type) for type in ("b", "a", "c")]

    shown = [
        list(operator.get(f"{_address('deliveries_event')}?o={order}").context["cl"].result_list)
        for order in ("2", "-2")
    ]

    assert shown == [events[::-1], events[::-1]]


@pytest.mark.parametrize("number", ["0", "99999999999999999999999", "abc", "-1", "٣"])
def test_a_number_that_is_none_finds_nothing_and_breaks_nothing(operator: Client, number: str):
    _rows_everywhere(tenant="one")

    for query in (f"q={number}", f"endpoint={number}"):
        assert operator.get(f"{_address('deliveries_deadletter')}?{query}&resolution=all").status_code == 200
        assert operator.get(f"{_address('deliveries_delivery')}?{query}").status_code == 200


def test_a_small_list_counts_exactly_and_a_filter_is_never_estimated():
    rows = Endpoint.objects.filter(tenant="none")

    paginator = tables.CappedPaginator(rows, 50)

    assert (paginator.count, paginator.total) == (0, "0")


def _rows_everywhere(tenant: str) -> None:
    endpoint = make_endpoint(tenant=tenant)
    make_delivered(endpoint)
    make_dead_letter(endpoint)
    redrive([make_dead_letter(endpoint).pk], actor="anna")
    pause(endpoint, actor="anna", reason="migration")


def _most_rows_read(client: Client, query: str, delivery: Delivery) -> float:
    filled = query.format(endpoint=delivery.endpoint_id, delivery=delivery.pk)
    queries = _queries(client, f"{_address('deliveries_delivery')}?{filled}")
    touching = [sql for sql in queries if sql.startswith("SELECT") and "deliveries_delivery" in sql]
    assert touching
    return max(_rows_read(sql) for sql in touching)


def _rows_read(sql: str) -> float:
    """How many rows of the delivery table a query looks at, found or thrown away, by PostgreSQL's own account."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + sql.replace("%", "%%"))
        answer = cursor.fetchone()[0]
    plan = json.loads(answer) if isinstance(answer, str) else answer
    return sum(_scanned(node) for node in _nodes(plan[0]["Plan"]))


def _scanned(node: dict[str, Any]) -> float:
    if node.get("Relation Name") != "deliveries_delivery":
        return 0
    return (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]


def _nodes(node: dict[str, Any]):
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)
