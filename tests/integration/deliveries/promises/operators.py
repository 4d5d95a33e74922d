"""What operators decide, one rule each."""

from collections.abc import Callable
from functools import partial

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from deliveries import operations, redrive, replay
from deliveries.errors import OperationFinished, RedriveRefused
from deliveries.models import DeadLetter, Event, Operation
from endpoints import availability
from endpoints.errors import TransitionRefused
from tests.integration.deliveries.promises.books import DISCARDED, OPEN, REDRIVEN, Account
from tests.integration.deliveries.promises.world import Pick, World

Verb = Callable[[list[int]], Operation]


class Operators(World):
    """Endpoints are moved, dead letters decided about, deliveries replayed, operations stopped."""

    @rule(pick=Pick, verb=st.sampled_from(["pause", "disable", "enable", "enable", "archive"]))
    def move_endpoint(self, pick: int, verb: str) -> None:
        endpoint = self.endpoints[pick % len(self.endpoints)]
        if verb == "archive" and pick % 3:
            verb = "enable"
        try:
            getattr(availability, verb)(endpoint, actor="anna", reason="a test")
        except TransitionRefused:
            note(f"{verb} is refused: the endpoint is {endpoint.state}")

    @precondition(lambda self: any(account.letters for account in self.books.values()))
    @rule(picks=st.lists(Pick, min_size=1, max_size=3), rate=st.sampled_from([None, 0.5]), is_any=st.booleans())
    def redrive(self, picks: list[int], rate: float | None, is_any: bool) -> None:
        letters = self.pick_letters(picks, is_any)
        won = [letter for letter in letters if letter.resolution == OPEN and letter.endpoint.state != "archived"]
        verb = partial(redrive.redrive, actor="anna", rate_per_second=rate)
        if operation := self.decide_about(letters, won, verb):
            for letter in won:
                self.resolve(letter, REDRIVEN)
                self.books[letter.delivery_id].send_again(operation.pk)

    @precondition(lambda self: any(account.letters for account in self.books.values()))
    @rule(picks=st.lists(Pick, min_size=1, max_size=2), is_any=st.booleans())
    def discard(self, picks: list[int], is_any: bool) -> None:
        letters = self.pick_letters(picks, is_any)
        won = [letter for letter in letters if letter.resolution == OPEN]
        if self.decide_about(letters, won, partial(redrive.discard, actor="anna", note="not needed")):
            for letter in won:
                self.resolve(letter, DISCARDED)

    def decide_about(self, letters: list[DeadLetter], won: list[DeadLetter], verb: Verb) -> Operation | None:
        try:
            operation = verb([letter.pk for letter in letters])
        except RedriveRefused:
            # One that is named alone is refused aloud, several are counted.
            assert (len(letters), won) == (1, [])
            return None
        assert (operation.moved, operation.refused) == (len(won), len(letters) - len(won))
        return operation

    def pick_letters(self, picks: list[int], is_any: bool) -> list[DeadLetter]:
        """Open ones while there are any, or any."""
        letters = DeadLetter.objects.select_related("endpoint").order_by("pk")
        choice = list(letters if is_any else letters.filter(resolution=OPEN)) or list(letters)
        return list({choice[pick % len(choice)].pk: choice[pick % len(choice)] for pick in picks}.values())

    def resolve(self, letter: DeadLetter, resolution: str) -> None:
        """The open letter of a delivery is its last one."""
        account = self.books[letter.delivery_id]
        assert account.letters[-1] == OPEN
        account.letters[-1] = resolution

    @precondition(lambda self: self.owed)
    @rule(pick=Pick, missed_only=st.booleans())
    def replay(self, pick: int, missed_only: bool) -> None:
        event = Event.objects.order_by("sequence")[pick % len(self.owed)]
        again = {id for id in event.deliveries.values_list("pk", flat=True) if self.books[id].status == "delivered"}
        archived = set(event.deliveries.filter(endpoint__state="archived").values_list("pk", flat=True))
        operation = replay.replay_events([event.pk], actor="anna", missed_only=missed_only)
        fresh = self.open_accounts(event)
        won = set() if missed_only else again - archived
        assert operation.moved == len(won) + len(fresh)
        for id in won | set(fresh):
            self.books[id].send_again(operation.pk)

    @precondition(lambda self: any(account.operation for account in self.books.values()))
    @rule(pick=Pick, is_any=st.booleans())
    def stop(self, pick: int, is_any: bool) -> None:
        """Of the operations that have something to call back, or at least on its way, while there are any."""
        known = {account.operation for account in self.books.values() if account.operation}
        waiting = {account.operation for account in self.books.values() if account.status == "pending"}
        choice = sorted(id for id in known if (id in waiting if is_any else self.untried(id))) or sorted(known)
        operation = Operation.objects.get(pk=choice[pick % len(choice)])
        untried = self.untried(operation.pk)
        try:
            assert operations.stop(operation, actor="anna").withdrawn == len(untried) > 0
        except OperationFinished:
            assert not untried
        for id, account in untried.items():
            self.withdraw(id, account, operation)

    def untried(self, operation: int) -> dict[int, Account]:
        return {
            id: account
            for id, account in self.books.items()
            if (account.operation, account.status) == (operation, "pending")
            and account.attempts_begun == account.budget_offset
        }

    def withdraw(self, id: int, account: Account, operation: Operation) -> None:
        account.operation = None
        if operation.kind == "redrive":
            account.status, account.letters[-1] = "dead", OPEN
        elif account.attempts_begun:
            account.status = "delivered"
        else:
            del self.books[id]
