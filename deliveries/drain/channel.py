"""Channels: the requests of one endpoint, a queue and up to `max_concurrency` threads that empty it.

All channels of a process share one pool of threads. A thread takes delivery after delivery from its channel, so that a
request costs no hand-over between threads.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from deliveries.drain.outbox import Outbox
from deliveries.outcomes import Kind, Outcome
from deliveries.pacing import Tally, rules
from deliveries.recipients import Recipient
from deliveries.statuses import Status
from deliveries.transitions.claim import Claimed
from deliveries.transitions.settle import Result

logger = logging.getLogger(__name__)

Attempt = Callable[[Claimed, Recipient], tuple[Result, Outcome]]


CIRCUIT_FAILURES = frozenset({Kind.SERVER_ERROR, Kind.TIMEOUT, Kind.CONNECTION, Kind.DNS, Kind.TLS, Kind.UNKNOWN})
"""Outcomes that say the endpoint is not well, whatever it was sent. One that throttles is well, and is held instead."""


class Channel:
    """Sends what it is fed until it is closed, until `closes_at` (monotonic), or until the endpoint asks for less."""

    def __init__(
        self,
        recipient: Recipient,
        attempt: Attempt,
        outbox: Outbox,
        pool: Executor,
        closes_at: float = math.inf,
    ) -> None:
        self.recipient = recipient
        self.is_gone = False
        self.low_water = 0
        self.pace = ""
        self.closes_at = closes_at
        self.sent = 0
        self.failed = 0
        self.busy_ms = 0
        self._tally = Tally()
        self._attempt = attempt
        self._outbox = outbox
        self._pool = pool
        self._waiting: deque[Claimed] = deque()
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Claimed deliveries that no thread has taken up yet."""
        return len(self._waiting)

    @property
    def is_idle(self) -> bool:
        """Nothing waits and nothing is in flight."""
        with self._lock:
            return not self._waiting and self._threads == 0

    @property
    def is_closed(self) -> bool:
        return self._closed

    def feed(self, rows: Sequence[Claimed]) -> None:
        """Queue deliveries and bring enough threads to send them."""
        self._waiting.extend(rows)
        with self._lock:
            missing = min(self.recipient.max_concurrency, len(self._waiting)) - self._threads
            self._threads += max(missing, 0)
        for _ in range(missing):
            self._pool.submit(self._work)

    def stop(self) -> None:
        """Take up nothing more; what waits is returned by `close`."""
        self._closed = True

    def reconfigure(self, recipient: Recipient | None) -> None:
        """Send by a newer configuration from the next request on; stop when the endpoint may not receive any more."""
        if recipient is None or not recipient.is_open:
            self.stop()
        else:
            self.recipient = recipient

    def close(self) -> list[Claimed]:
        """Send nothing more and return what was not sent; requests in flight still report."""
        self._closed = True
        unsent = []
        while self._waiting:
            try:
                unsent.append(self._waiting.popleft())
            except IndexError:
                break
        return unsent

    def _work(self) -> None:
        while claimed := self._next():
            try:
                result, outcome = self._attempt(claimed, self.recipient)
            except Exception:
                # The lease lapses and the sweep records the attempt: its result is unknown.
                logger.exception("delivery %s: the attempt ended without a result", claimed.id)
                continue
            result.pace = self.pace
            self._note(result, outcome)
            self._outbox.put(result)

    def _next(self) -> Claimed | None:
        with self._lock:
            # A process that was held up may wake long after its leases: what waits is not its own any more.
            if self._waiting and not self._closed and time.monotonic() < self.closes_at:
                claimed = self._waiting.popleft()
                is_low = len(self._waiting) == self.low_water
            else:
                claimed = None
                self._threads -= 1
                is_low = self._threads == 0
        if is_low:
            self._outbox.nudge()
        return claimed

    @property
    def has_news(self) -> bool:
        """Whether a request ended since the last tally."""
        return bool(self._tally.good or self._tally.bad)

    def take_tally(self) -> Tally:
        """What has become of requests since the last call, for the circuit."""
        with self._lock:
            tally, self._tally = self._tally, Tally(streak=self._tally.streak)
        return tally

    def _note(self, result: Result, outcome: Outcome) -> None:
        with self._lock:
            self.sent += 1
            self.busy_ms += result.duration_ms
            if outcome.kind in CIRCUIT_FAILURES:
                self.failed += 1
                self._tally.bad += 1
                self._tally.streak += 1
            elif outcome.blames_endpoint or outcome.kind is Kind.DELIVERED:
                # A refusal is an answer: the endpoint is up, whatever it thinks of this one event.
                self._tally.good += 1
                self._tally.streak = 0
            if outcome.slows_endpoint:
                self._tally.hold_seconds = max(outcome.retry_after_seconds or 0.0, self._tally.hold_seconds or 0.0)
            self.is_gone = self.is_gone or outcome.kind is Kind.GONE
            if self._must_stop(result, outcome):
                self._closed = True

    def _must_stop(self, result: Result, outcome: Outcome) -> bool:
        """Whether what came back forbids sending what still waits: no need to fail it too."""
        if self.is_gone or outcome.slows_endpoint or self._tally.streak >= rules.OPEN_STREAK:
            return True
        # In strict order nothing may overtake a delivery that has to be sent again, or that blocks the way.
        recipient = self.recipient
        return recipient.ordered and (
            result.status == Status.PENDING or (result.status == Status.DEAD and recipient.dead_letter_blocks)
        )
