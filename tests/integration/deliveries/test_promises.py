"""Whatever happens in whatever order, nothing is lost: a state machine over the real tables.

Hypothesis interleaves what publishers, workers, sweeps, operators and prune do. A second set of books says what must
be in the tables, and after each step the two are compared. `PROMISES_EXAMPLES=2000` looks further, with fresh seeds.
"""

import os
from datetime import datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from deliveries.models import Attempt, DeadLetter, Delivery, Event
from deliveries.prune import Retention, prune
from tests.integration.deliveries.promises.books import OPEN, REDRIVEN, Tables, read_tables
from tests.integration.deliveries.promises.operators import Operators
from tests.integration.deliveries.promises.workers import Workers

USUAL_EXAMPLES = 50
EXAMPLES = int(os.environ.get("PROMISES_EXAMPLES", USUAL_EXAMPLES))
STEPS = 35

RETENTION = Retention(events=1.5, attempts=0.5, dead_letters=1.5)
"""Never a whole number of days, as time passes in whole ones."""


class Promises(Workers, Operators):
    """All that happens, and prune."""

    @initialize(ordered=st.booleans(), answers=st.lists(st.sampled_from([200, 422]), min_size=2, max_size=2))
    def begin(self, ordered: bool, answers: list[int]) -> None:
        """Of everything there is some: what waits, what arrived and what is dead."""
        self.subscribe("*", ordered)
        self.subscribe("payment.*", ordered=False)
        self.publish_many("payment.completed", 3)
        for pick, answer in enumerate(answers):
            self.settle(self.claim_some(pick, 2), answer)

    @precondition(lambda self: any(account.is_final for account in self.books.values()))
    @rule()
    def prune(self) -> None:
        now, before = self.now, read_tables()
        may_go = {id for id in self.owed if self.may_go(id, now)}
        young = Attempt.objects.filter(started_at__gte=now - timedelta(days=RETENTION.attempts))
        young_ids = set(young.values_list("pk", flat=True))
        gone_with_their_event = young.filter(delivery__event__in=may_go).count()
        prune(RETENTION, now=now, pause=lambda _seconds: None)
        after = read_tables()
        assert set(before.bodies) - set(after.bodies) == may_go
        assert Attempt.objects.filter(pk__in=young_ids).count() == len(young_ids) - gone_with_their_event
        for id, row in before.rows.items():
            if row.event in may_go:
                assert self.books.pop(id).is_final
        for event in may_go:
            del self.owed[event], self.bodies[event]
        self.close_what_is_gone(before, after)

    def may_go(self, event_id: str, now: datetime) -> bool:
        cut = now - timedelta(days=RETENTION.events)
        rows = Delivery.objects.filter(event=event_id)
        letters = DeadLetter.objects.filter(delivery__event=event_id)
        return (
            Event.objects.get(pk=event_id).created_at < cut
            and all(self.books[row.pk].is_final for row in rows)
            and not any(letter.resolution == OPEN or letter.resolved_at >= cut for letter in letters)
        )

    def close_what_is_gone(self, before: Tables, after: Tables) -> None:
        """Attempts and redriven dead letters may be gone alone, and only of what is final."""
        for id, account in self.books.items():
            gone = before.attempts[id] - after.attempts[id]
            assert account.is_final or (not gone and before.letters[id] == after.letters[id])
            account.pruned_attempts |= gone
            kept = [[one for one in letters[id] if one != REDRIVEN] for letters in (before.letters, after.letters)]
            assert kept[0] == kept[1]
            account.letters = after.letters[id]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_redis")
def test_nothing_is_lost_in_whatever_order_things_happen():
    run_state_machine_as_test(
        Promises,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=EXAMPLES == USUAL_EXAMPLES,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
