"""Where requests are booked in and answers go out: the state one receiver process has."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from demo.receiver.answers import Plan
from demo.receiver.ledger import Ledger
from demo.receiver.parsing import Request
from demo.receiver.records import Record
from demo.receiver.routes import RouteTable
from demo.receiver.tallies import Tally
from demo.receiver.verification import Verifier

COUNTED = ("requests", "distinct", "accepted")


class Peer(Protocol):
    """A connection, as the desk sees it."""

    number: int

    def perform(self, record: Record) -> None: ...


@dataclass(slots=True, eq=False)
class Waiter:
    """Somebody who wants to know when a count reaches a number; ``path`` None means all paths together."""

    counted: str
    count: int
    path: str | None
    reply: Callable[[bool], None]

    def reached(self, tallies: Iterable[Tally]) -> bool:
        """Whether the count is there."""
        if self.counted == "requests":
            return sum(tally.requests for tally in tallies) >= self.count
        return sum(len(tally.seen if self.counted == "distinct" else tally.accepted) for tally in tallies) >= self.count


class Desk:
    """Books requests in, and answers them at the end of the event loop's turn, after their log lines are written."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ledger: Ledger) -> None:
        self.loop = loop
        self.ledger = ledger
        self.routes = RouteTable()
        self.verifier = Verifier()
        self._forgotten = 0
        self._waiters: list[Waiter] = []
        self._outbox: list[tuple[Peer, Record]] = []
        self._turn_ends = False

    def book(self, peer: Peer, request: Request) -> Plan:
        """Keep a request, decide its answer and queue it."""
        head = request.head
        route = self.routes.of(head.target)
        webhook_id = head.headers.get("webhook-id", "")
        plan = route.behaviour(webhook_id)
        route.tally.arrive(webhook_id, plan.label)
        number = self.ledger.received + 1
        now, wall = time.monotonic(), time.time()
        record = Record(number, peer.number, now, wall, head, request.body, route, webhook_id, plan)
        self.ledger.add(record)
        self._outbox.append((peer, record))
        if not self._turn_ends:
            self._turn_ends = True
            self.loop.call_soon(self.end_turn)
        return plan

    def end_turn(self) -> None:
        """Write the log, then let the answers go, then tell who waits."""
        self._turn_ends = False
        self.ledger.flush()
        outbox, self._outbox = self._outbox, []
        for peer, record in outbox:
            peer.perform(record)
        if self._waiters:
            self.tell_waiters()

    def wait(self, waiter: Waiter, seconds: float) -> None:
        """Reply True when the count is reached, False after so many seconds."""
        self._waiters.append(waiter)
        self.loop.call_later(seconds, self._give_up, waiter)
        self.tell_waiters()

    def tell_waiters(self) -> None:
        """Reply to every waiter whose count is reached."""
        possible = self.ledger.received - self._forgotten
        for waiter in list(self._waiters):
            # No count exceeds the requests received: saves summing over all paths on every turn.
            if waiter.count <= possible and waiter.reached(self._tallies(waiter.path)):
                self._waiters.remove(waiter)
                waiter.reply(True)

    def forget(self) -> None:
        """Drop everything received so far from memory."""
        self._forgotten = self.ledger.received
        self.ledger.forget()
        self.routes.forget()
        self.verifier.forget()

    def _give_up(self, waiter: Waiter) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            waiter.reply(False)

    def _tallies(self, path: str | None) -> list[Tally]:
        return [route.tally for route in self.routes.paths() if path in (None, route.path)]
