"""The world of the promises: endpoints, published events, the books, and what must be true after every step."""

import random
from datetime import datetime, timedelta

from django.db import connection, transaction
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from psycopg2.extensions import TRANSACTION_STATUS_INERROR

from deliveries import publish, publish_many
from deliveries.drain.attempt import DatabaseClock, attempt
from deliveries.models import Delivery, Event
from deliveries.recipients import load_recipients
from deliveries.transitions.claim import Claimed, Wish, claim
from deliveries.transitions.claim_in_order import claim_in_order
from deliveries.transitions.expire import bury_archived, expire
from deliveries.transitions.lapse import lapse
from deliveries.transitions.settle import Result, settle
from deliveries.transport import MemoryTransport
from endpoints import availability
from endpoints.models import Endpoint, RetryPolicy
from tests.integration.deliveries.promises.books import DISCARDED, OPEN, Account, Tables, let_pass, read_tables

MAX_ATTEMPTS = 2
LEASE_SECONDS = 60.0
TYPES = ("payment.completed", "payment.card.failed", "invoice.sent")
SUBSCRIPTIONS = {"*": set(TYPES), "payment.*": set(TYPES[:2]), "invoice.sent": {"invoice.sent"}}

Pick = st.integers(0, 11)
"""Which of the things at hand; taken modulo their number."""


class World(RuleBasedStateMachine):
    """`books` holds an account for each delivery by its id; `owed` the endpoints of each event as it was published."""

    def __init__(self) -> None:
        super().__init__()
        self.transaction = transaction.atomic()
        self.transaction.__enter__()
        self.policy = RetryPolicy.objects.create(
            name="promises", base_seconds=10, cap_seconds=60, max_attempts=MAX_ATTEMPTS, deadline_seconds=3 * 86_400
        )
        self.endpoints: list[Endpoint] = []
        self.books: dict[int, Account] = {}
        self.owed: dict[str, set[int]] = {}
        self.bodies: dict[str, str] = {}
        self.claims: list[Claimed] = []
        self.rng = random.Random(1)
        # The database's clock, which stands still within a transaction.
        with connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            self.now: datetime = cursor.fetchone()[0]

    def teardown(self) -> None:
        try:
            # A statement that failed has ended the transaction, and the failure is told already.
            if connection.connection.get_transaction_status() != TRANSACTION_STATUS_INERROR:
                self.everything_comes_to_its_end()
        finally:
            transaction.set_rollback(True)
            self.transaction.__exit__(None, None, None)

    # Publishers and subscribers.

    @precondition(lambda self: 2 <= len(self.endpoints) < 4)
    @rule(subscription=st.sampled_from(list(SUBSCRIPTIONS)), ordered=st.booleans())
    def subscribe(self, subscription: str, ordered: bool) -> None:
        url = f"http://127.0.0.1:9/{len(self.endpoints)}"
        self.endpoints.append(
            Endpoint.objects.create(url=url, event_types=[subscription], ordered=ordered, retry_policy=self.policy)
        )

    @rule(type=st.sampled_from(TYPES), count=st.integers(0, 3))
    def publish(self, type: str, count: int) -> None:
        """Several at once, or, with 0, one under an id that may be taken."""
        if count:
            self.publish_many(type, count)
        elif "order-1" in self.owed:
            stored = Event.objects.get(pk="order-1")
            assert publish(stored.type, stored.data, id="order-1") == stored
        else:
            self.expect(publish(type, {"n": 1}, id="order-1"))

    def publish_many(self, type: str, count: int) -> None:
        for event in publish_many([{"type": type, "data": {"n": n}} for n in range(count)]):
            self.expect(event)

    def expect(self, event: Event) -> None:
        wanted = {
            endpoint.pk
            for endpoint in self.endpoints
            if endpoint.state != "archived" and event.type in SUBSCRIPTIONS[endpoint.event_types[0]]
        }
        self.owed[event.pk], self.bodies[event.pk] = wanted, event.body
        self.open_accounts(event)
        assert {row.endpoint_id for row in event.deliveries.all()} == wanted

    def open_accounts(self, event: Event) -> list[int]:
        fresh = [id for id in event.deliveries.values_list("pk", flat=True) if id not in self.books]
        self.books |= {id: Account() for id in fresh}
        return fresh

    # What must be true after every step.

    @invariant()
    def the_promises_hold(self) -> None:
        found = read_tables()
        self.the_books_and_the_tables_agree(found)
        self.every_event_is_accounted_for_at_every_endpoint_it_was_meant_for(found)
        self.an_open_dead_letter_lies_where_a_delivery_is_dead_and_nobody_let_it_go()

    def the_books_and_the_tables_agree(self, found: Tables) -> None:
        assert set(found.rows) == set(self.books)
        assert found.bodies == self.bodies
        for id, account in self.books.items():
            row = found.rows[id]
            token = str(account.token) if account.token else None
            stands = (row.status, row.attempts_begun, row.budget_offset, row.token)
            assert stands == (account.status, account.attempts_begun, account.budget_offset, token)
            assert found.attempts[id] == account.recorded_attempts
            assert found.letters[id] == account.letters

    def every_event_is_accounted_for_at_every_endpoint_it_was_meant_for(self, found: Tables) -> None:
        there = {(row.event, row.endpoint) for row in found.rows.values()}
        assert {(event, endpoint) for event, wanted in self.owed.items() for endpoint in wanted} <= there

    def an_open_dead_letter_lies_where_a_delivery_is_dead_and_nobody_let_it_go(self) -> None:
        for account in self.books.values():
            last = account.letters[-1] if account.letters else ""
            assert (account.status == "dead") == (last in (OPEN, DISCARDED))
            assert account.letters.count(OPEN) == (last == OPEN)

    def everything_comes_to_its_end(self) -> None:
        """Workers and sweeps alone finish all the work there is, once nobody holds it back."""
        for endpoint in self.endpoints:
            if endpoint.state in ("paused", "disabled"):
                availability.enable(endpoint, actor="anna")
        Endpoint.objects.update(dead_letter_blocks=False)
        for _ in range(4 * len(self.books) + 4):
            let_pass(timedelta(minutes=2))
            lapse(100), expire(100), bury_archived(100)
            for endpoint in Endpoint.objects.filter(deliveries__status="pending", state="active").distinct():
                settle(self.results(take(endpoint, 100), answer=200))
            if not Delivery.objects.filter(status__in=["pending", "sending"]).exists():
                return
        raise AssertionError("work is left that nobody can finish")

    # What a worker does.

    def results(self, claims: list[Claimed], answer: int) -> list[Result]:
        """Each claim sent once and answered so."""
        transport, clock = MemoryTransport(answer), DatabaseClock(self.now)
        recipients = load_recipients({claimed.endpoint_id for claimed in claims}, self.now)
        return [
            attempt(claimed, recipients[claimed.endpoint_id], transport=transport, clock=clock, rng=self.rng)[0]
            for claimed in claims
        ]


def take(endpoint: Endpoint, rows: int) -> list[Claimed]:
    wish = Wish(rows, LEASE_SECONDS)
    return claim_in_order(endpoint.pk, wish) if endpoint.ordered else claim({endpoint.pk: wish})
