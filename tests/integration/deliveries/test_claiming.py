"""Claim, settle, hand back: the moves of a delivery under a lease."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from deliveries.models import Attempt, DeadLetter, Delivery
from deliveries.outcomes import Kind
from deliveries.statuses import Status
from deliveries.transitions import claim as claiming
from deliveries.transitions.bury import Burial
from deliveries.transitions.claim import Claimed, Wish, claim
from deliveries.transitions.hand_back import hand_back
from deliveries.transitions.settle import Result, settle
from endpoints import availability
from tests.factories import make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def take(endpoint, rows: int = 100, lease_seconds: float = 60) -> list[Claimed]:
    return claim({endpoint.pk: Wish(rows, lease_seconds)})


def result(claimed: Claimed, status: Status = Status.DELIVERED, **fields) -> Result:
    outcome = {Status.DELIVERED: Kind.DELIVERED, Status.PENDING: Kind.SERVER_ERROR, Status.DEAD: Kind.REJECTED}[status]
    values = {"delay_seconds": 60.0 if status is Status.PENDING else None, "status_code": 200} | fields
    return Result(claimed, status, outcome, "said so", timezone.now(), 12, **values)


def burial(claimed: Claimed) -> Burial:
    return Burial(claimed.id, "rejected", "said so", "https://a.example/hook", {"webhook-id": claimed.event_id})


def row(claimed: Claimed) -> Delivery:
    return Delivery.objects.get(pk=claimed.id)


class TestClaiming:
    def test_a_claimed_delivery_is_leased_and_its_attempt_counted_before_it_is_made(self):
        endpoint = make_endpoint()
        event = make_event()

        (claimed,) = take(endpoint, lease_seconds=60)

        delivery = row(claimed)
        assert (delivery.status, delivery.attempt_count, delivery.next_attempt_at) == (Status.SENDING, 1, None)
        assert delivery.lease_token == claimed.token
        assert delivery.lease_expires_at - claimed.claimed_at == timedelta(seconds=60)
        assert (claimed.number, claimed.budget_number) == (1, 1)
        assert claimed.body == event.body.encode()
        assert (claimed.event_id, claimed.endpoint_id) == (event.pk, endpoint.pk)

    def test_what_is_claimed_is_claimed_once(self):
        endpoint = make_endpoint()
        make_event()

        assert len(take(endpoint)) == 1
        assert take(endpoint) == []

    def test_the_longest_due_come_first_and_no_more_than_wished(self):
        endpoint = make_endpoint()
        deliveries = [make_event().deliveries.get() for _ in range(4)]
        for age, delivery in enumerate(deliveries):
            due_at = timezone.now() - timedelta(minutes=age + 1)
            Delivery.objects.filter(pk=delivery.pk).update(next_attempt_at=due_at)

        claimed = take(endpoint, rows=2)

        assert {found.id for found in claimed} == {deliveries[3].pk, deliveries[2].pk}

    def test_what_is_due_later_is_left(self):
        endpoint = make_endpoint()
        make_event()
        Delivery.objects.update(next_attempt_at=timezone.now() + timedelta(seconds=60))

        assert take(endpoint) == []

    def test_one_statement_serves_many_endpoints_each_by_its_own_wish(self, django_assert_num_queries):
        small, large, unasked = make_endpoint(), make_endpoint(), make_endpoint()
        for _ in range(5):
            make_event()

        with django_assert_num_queries(1):
            claimed = claim({small.pk: Wish(2, 30), large.pk: Wish(100, 90)})

        shares = [sum(found.endpoint_id == endpoint.pk for found in claimed) for endpoint in (small, large, unasked)]
        assert shares == [2, 5, 0]
        leases = {found.endpoint_id: row(found).lease_expires_at - found.claimed_at for found in claimed}
        assert leases == {small.pk: timedelta(seconds=30), large.pk: timedelta(seconds=90)}

    @pytest.mark.parametrize("move", [availability.pause, availability.disable, availability.archive])
    def test_an_endpoint_that_is_not_active_gives_nothing(self, move):
        endpoint = make_endpoint()
        make_event()
        move(endpoint, actor="a test", reason="a test")

        assert take(endpoint) == []

    def test_numbers_go_on_after_a_redrive_and_the_budget_starts_again(self):
        endpoint = make_endpoint()
        make_event()
        Delivery.objects.update(attempt_count=5, budget_offset=5)

        (claimed,) = take(endpoint)

        assert (claimed.number, claimed.budget_number) == (6, 1)

    def test_it_finds_its_rows_by_the_index_of_what_is_due(self):
        endpoint = make_endpoint()
        make_event()
        wish: dict[str, Any] = {"endpoints": [endpoint.pk], "rows": [10], "leases": [60.0], "token": str(uuid4())}

        with connection.cursor() as cursor:
            # With a handful of rows the planner would read the whole table.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {claiming._CLAIM}", wish)
            plan = "\n".join(line for (line,) in cursor.fetchall())

        assert "delivery_due" in plan
        # The order is that of the index: nothing is sorted to find the oldest.
        between = plan[plan.index("LockRows") : plan.index("delivery_due")]
        assert "Sort" not in between


class TestSettling:
    def test_delivered_retried_and_dead_are_recorded_together(self):
        endpoint = make_endpoint()
        for _ in range(3):
            make_event()
        delivered, retried, dead = take(endpoint)

        settled = settle(
            [
                result(delivered),
                result(retried, Status.PENDING, delay_seconds=60.0),
                result(dead, Status.DEAD, status_code=422, burial=burial(dead)),
            ]
        )

        assert settled.delivery_ids == {delivered.id, retried.id, dead.id}
        assert [row(claimed).status for claimed in (delivered, retried, dead)] == ["delivered", "pending", "dead"]
        wait = row(retried).next_attempt_at - timezone.now()
        assert timedelta(seconds=55) < wait <= timedelta(seconds=60)
        letter = DeadLetter.objects.get(pk__in=settled.dead_letter_ids)
        assert letter.delivery_id == dead.id
        assert [tried["status_code"] for tried in letter.attempts] == [422]
        assert Attempt.objects.count() == 3

    @pytest.mark.parametrize("status", [Status.DELIVERED, Status.PENDING, Status.DEAD])
    def test_a_lost_lease_records_nothing_at_all(self, status):
        endpoint = make_endpoint()
        make_event()
        (claimed,) = take(endpoint)
        newer = uuid4()
        Delivery.objects.update(lease_token=newer)

        settled = settle([result(claimed, status, burial=burial(claimed) if status is Status.DEAD else None)])

        assert (settled.delivery_ids, settled.dead_letter_ids) == (set(), [])
        assert (row(claimed).status, row(claimed).lease_token) == (Status.SENDING, newer)
        assert not Attempt.objects.exists()
        assert not DeadLetter.objects.exists()

    def test_one_lost_lease_does_not_keep_the_others_from_being_recorded(self):
        endpoint = make_endpoint()
        make_event()
        make_event()
        kept, lost = take(endpoint)
        stale = replace(lost, token=uuid4())

        assert settle([result(kept), result(stale)]).delivery_ids == {kept.id}

    def test_the_same_result_twice_is_recorded_once(self):
        endpoint = make_endpoint()
        make_event()
        (claimed,) = take(endpoint)

        settle([result(claimed)])

        assert settle([result(claimed)]).delivery_ids == set()
        assert Attempt.objects.count() == 1

    def test_a_batch_is_one_round_trip_and_with_dead_letters_a_few_more(self, django_assert_num_queries):
        endpoint = make_endpoint()
        for _ in range(40):
            make_event()
        claimed = take(endpoint)

        with django_assert_num_queries(1):
            settle([result(one) for one in claimed[:20]])
        with django_assert_num_queries(4):  # savepoint, results, dead letters, release
            settle([result(one, Status.DEAD, burial=burial(one)) for one in claimed[20:]])

    def test_what_an_answer_may_hold_can_be_stored(self):
        endpoint = make_endpoint()
        make_event()
        (claimed,) = take(endpoint)

        settle([result(claimed, snippet='\ufffd "quoted" \\ 😱\n', retry_after="Wed, 21 Oct 2015 07:28:00 GMT")])

        assert Attempt.objects.get().snippet == '\ufffd "quoted" \\ 😱\n'


class TestHandingBack:
    def test_an_unsent_delivery_is_as_before_and_due_at_once(self):
        endpoint = make_endpoint()
        make_event()
        Delivery.objects.update(attempt_count=3)
        (claimed,) = take(endpoint)

        assert hand_back([claimed]) == 1

        delivery = row(claimed)
        assert (delivery.status, delivery.attempt_count, delivery.lease_token) == (Status.PENDING, 3, None)
        assert not Attempt.objects.exists()
        (again,) = take(endpoint)
        assert again.number == 4

    def test_one_that_somebody_else_holds_by_now_is_left_to_them(self):
        endpoint = make_endpoint()
        make_event()
        (claimed,) = take(endpoint)
        Delivery.objects.update(lease_token=uuid4())

        assert hand_back([claimed]) == 0
        assert row(claimed).status == Status.SENDING

    def test_one_that_is_finished_stays_finished(self):
        endpoint = make_endpoint()
        make_event()
        (claimed,) = take(endpoint)
        settle([result(claimed)])

        assert hand_back([claimed]) == 0
        assert row(claimed).status == Status.DELIVERED

    def test_nothing_to_hand_back_costs_no_statement(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert hand_back([]) == 0
