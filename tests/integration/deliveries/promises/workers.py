"""What workers and sweeps do, one rule each."""

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from deliveries.models import DeadLetter, Delivery
from deliveries.transitions.claim import Claimed
from deliveries.transitions.expire import bury_archived, expire
from deliveries.transitions.hand_back import hand_back
from deliveries.transitions.lapse import lapse
from deliveries.transitions.settle import settle
from endpoints.models import Endpoint
from tests.integration.deliveries.promises.books import OPEN, let_pass
from tests.integration.deliveries.promises.world import MAX_ATTEMPTS, Pick, World, take

Answer = st.sampled_from([200, 503, 422])


class Workers(World):
    """Claims stay at hand after their end, so that results come late and twice as well."""

    @rule(pick=Pick, rows=st.integers(1, 4), answer=st.sampled_from([None, 200, 503, 422]))
    def work(self, pick: int, rows: int, answer: int | None) -> None:
        """Claim and record, or claim and take one's time."""
        claims = self.claim_some(pick, rows)
        if answer:
            self.settle(claims, answer)

    def claim_some(self, pick: int, rows: int) -> list[Claimed]:
        """Of the endpoints that something waits for, while there are any."""
        busy = Delivery.objects.filter(status="pending").values_list("endpoint", flat=True)
        choice = [endpoint for endpoint in self.endpoints if endpoint.pk in busy] or self.endpoints
        endpoint = choice[pick % len(choice)]
        expected = self.claimable(endpoint, rows)
        claims = take(endpoint, rows)
        assert [claimed.id for claimed in claims] == expected
        for claimed in claims:
            account = self.books[claimed.id]
            account.claim(claimed)
            assert claimed.number == account.attempts_begun
            assert claimed.budget_number == account.attempts_begun - account.budget_offset
            assert claimed.body.decode() == self.bodies[claimed.event_id]
        self.claims += claims
        return claims

    def claimable(self, endpoint: Endpoint, rows: int) -> list[int]:
        if endpoint.state != "active":
            return []
        due = Delivery.objects.filter(endpoint=endpoint, status="pending", next_attempt_at__lte=self.now)
        if not endpoint.ordered:
            return sorted(due.order_by("next_attempt_at", "pk").values_list("pk", flat=True)[:rows])
        run, ready = [], set(due.values_list("pk", flat=True))
        unfinished = Delivery.objects.filter(endpoint=endpoint).exclude(status__in=["delivered", "dead"])
        letters = DeadLetter.objects.filter(endpoint=endpoint, resolution=OPEN)
        first_letter = min(letters.values_list("delivery", flat=True), default=None)
        for id in unfinished.order_by("pk").values_list("pk", flat=True)[:rows]:
            if id not in ready or (first_letter is not None and first_letter < id):
                break
            run.append(id)
        return run

    @precondition(lambda self: self.live_claims())
    @rule(answer=Answer, most=st.integers(1, 4))
    def record(self, answer: int, most: int) -> None:
        self.settle(self.live_claims()[:most], answer)

    def settle(self, claims: list[Claimed], answer: int) -> None:
        live = {claimed.id for claimed in claims if self.is_live(claimed)}
        results = self.results(claims, answer)
        assert settle(results).delivery_ids == live
        for result in results:
            if result.claimed.id in live:
                account = self.books[result.claimed.id]
                spent = account.attempts_begun - account.budget_offset >= MAX_ATTEMPTS
                expected = {200: {"delivered"}, 422: {"dead"}, 503: {"dead"} if spent else {"pending", "dead"}}
                assert result.status in expected[answer]
                account.end(result.status)

    @precondition(lambda self: self.live_claims())
    @rule(pick=Pick)
    def hand_back(self, pick: int) -> None:
        claims = self.live_claims()
        claimed = claims[pick % len(claims)]
        assert hand_back([claimed]) == 1
        self.books[claimed.id].hand_back()

    @precondition(lambda self: self.lost_claims())
    @rule(pick=Pick, answer=st.sampled_from([None, 200, 503, 422]))
    def come_too_late(self, pick: int, answer: int | None) -> None:
        """With a result, or to hand back."""
        claimed = self.pick_lost(pick)
        if answer:
            self.settle([claimed], answer)
        else:
            assert hand_back([claimed]) == 0

    def live_claims(self) -> list[Claimed]:
        return [claimed for claimed in self.claims if self.is_live(claimed)]

    def lost_claims(self) -> list[Claimed]:
        return [claimed for claimed in self.claims if not self.is_live(claimed)]

    def pick_lost(self, pick: int) -> Claimed:
        """Of those whose delivery somebody else holds now, while there are any."""
        held = {id for id, account in self.books.items() if account.status == "sending"}
        lost = self.lost_claims()
        choice = [claimed for claimed in lost if claimed.id in held] or lost
        return choice[pick % len(choice)]

    def is_live(self, claimed: Claimed) -> bool:
        return claimed.id in self.books and self.books[claimed.id].is_held_by(claimed)

    # Time, and the sweeps.

    @rule(duration=st.sampled_from([timedelta(minutes=2), timedelta(days=1), timedelta(days=2)]))
    def time_passes(self, duration: timedelta) -> None:
        let_pass(duration)

    @precondition(lambda self: self.live_claims())
    @rule(page=st.sampled_from([1, 100]), is_back=st.booleans())
    def workers_die(self, page: int, is_back: bool) -> None:
        """And what they held is taken back, all or some, and perhaps is due again."""
        let_pass(timedelta(minutes=2))
        self.take_back(page)
        if is_back:
            let_pass(timedelta(minutes=2))

    def take_back(self, page: int) -> None:
        over = Delivery.objects.filter(status="sending", lease_expires_at__lte=self.now)
        expected = set(over.values_list("pk", flat=True))
        assert lapse(page).count == min(page, len(expected))
        for id in expected - set(Delivery.objects.filter(status="sending").values_list("pk", flat=True)):
            account = self.books[id]
            spent = account.attempts_begun - account.budget_offset >= MAX_ATTEMPTS
            account.end("dead" if spent else "pending")

    @precondition(lambda self: any(account.status == "pending" for account in self.books.values()))
    @rule()
    def give_up_what_is_too_late(self) -> None:
        late = Delivery.objects.filter(status="pending", deadline_at__lte=self.now)
        retired = Delivery.objects.filter(status="pending", endpoint__state="archived")
        for rows, verb in ((late, expire), (retired, bury_archived)):
            expected = set(rows.values_list("pk", flat=True))
            assert len(verb(100)) == len(expected)
            for id in expected:
                self.books[id].end("dead")
