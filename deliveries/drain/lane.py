"""Lanes: one endpoint within a drain, how much to claim for it next, and when it is done."""

import time
from collections.abc import Sequence

from deliveries.drain.channel import Channel
from deliveries.pacing import Allowance, rules
from deliveries.recipients import Recipient
from deliveries.transitions.claim import Claimed

SMALLEST_CLAIM, LARGEST_CLAIM = 16, 500
"""Rows that one claim takes for an endpoint. The size doubles while the endpoint keeps up, so a slow one holds few."""

ORDERED_CLAIM = 1
"""In strict order the next may go when the one before is final, which is when its result is recorded. A worker that
dies then repeats one event at most, and none out of sequence."""

KEEPS_UP_SECONDS = 0.5
"""An endpoint keeps up when a claim's rows are through within this time."""

SLOW_ANSWER_MS = 1000
"""Endpoints whose answers take this long on average belong on the slow queue."""

SHORT_WAIT_SECONDS = 1.0
"""Waits for tokens up to this long are sat out in the drain; longer ones become timers."""

GATHER_SECONDS = rules.BURST_SECONDS / 2
"""Where a limit is reached, so many seconds' worth of tokens is fetched at once: half of what the bucket holds, so that
none run over while they gather, and a worker claims ten times a second, not once a request."""


class Lane:
    """One endpoint in a drain: claims are sized to what it can take, and it ends when nothing more is due."""

    def __init__(self, channel: Channel, was_slow: bool, closes_at: float) -> None:
        self.channel = channel
        self.was_slow = was_slow
        self.closes_at = closes_at
        self.claim_size = max(SMALLEST_CLAIM, channel.recipient.max_concurrency)
        self.wait_until = 0.0
        self.is_busy_elsewhere = False
        self._is_drained = False
        self.is_probing = False
        self._fed_at = 0.0
        self._interval_ms = 0.0

    @property
    def id(self) -> int:
        return self.channel.recipient.id

    @property
    def recipient(self) -> Recipient:
        return self.channel.recipient

    @property
    def wanted(self) -> int:
        """Rows to ask for next."""
        return ORDERED_CLAIM if self.recipient.ordered else self.claim_size

    def is_hungry(self, now: float) -> bool:
        """Whether more rows should be claimed for it now (`now` is monotonic)."""
        if self._is_drained or self.channel.is_closed or now < self.wait_until:
            return False
        return self.channel.waiting <= self.channel.low_water

    def note_allowance(self, allowance: Allowance, now: float) -> None:
        """Take in what pacing said: how long to wait, or that another worker is at it."""
        self._interval_ms = allowance.interval_ms
        self.is_probing = allowance.why == "probe"
        # What is granted goes by this rule; what is not, waits by it.
        if allowance.granted:
            self.channel.pace = allowance.why
        if allowance.is_busy:
            self.is_busy_elsewhere = self._is_drained = True
        elif allowance.wait_seconds:
            self.wait_until = now + max(allowance.wait_seconds, GATHER_SECONDS)
            self._is_drained = self._is_drained or allowance.wait_seconds > SHORT_WAIT_SECONDS

    def note_circuit(self, circuit: str) -> None:
        """Take in the circuit's state after a report: stop unless it is closed; go on after a probe came through."""
        if circuit != "closed":
            self.channel.stop()
            # How long it stays open is pacing's to say; what the take said before the probe is over.
            self.wait_until = 0.0
        elif self.is_probing:
            self.is_probing = self._is_drained = False
            self.wait_until = 0.0

    def wait_for_timer(self, now: float) -> float:
        """Seconds until more may be taken; 0 when that is only a token away, which the next drain sits out."""
        wait = max(self.wait_until - now, 0.0)
        return 0.0 if self._interval_ms and wait <= SHORT_WAIT_SECONDS else wait

    def cost_ms(self, requests: int) -> float:
        """What so many requests took from the rate limit, in the milliseconds that `pacing.give_back` takes."""
        return requests * self._interval_ms

    def rest(self, until: float) -> None:
        """Claim nothing before `until` (monotonic)."""
        self.wait_until = until

    def feed(self, rows: Sequence[Claimed], wanted: int) -> None:
        """Send claimed rows; fewer than wanted means that nothing more is due."""
        now = time.monotonic()
        if not rows:
            # What was taken is given back, so there is no wait either.
            self.wait_until = 0.0
        if len(rows) < wanted:
            self._is_drained = True
        elif self._fed_at and now - self._fed_at < KEEPS_UP_SECONDS:
            self.claim_size = min(self.claim_size * 2, LARGEST_CLAIM)
        elif self._fed_at and now - self._fed_at > 2 * KEEPS_UP_SECONDS:
            self.claim_size = max(self.claim_size // 2, SMALLEST_CLAIM)
        self._fed_at = now
        self.channel.low_water = len(rows) // 4
        self.channel.feed(rows)

    @property
    def is_finished(self) -> bool:
        """Nothing more to claim and nothing in flight."""
        return (self._is_drained or self.channel.is_closed) and self.channel.is_idle

    @property
    def waits_for_record(self) -> bool:
        """Whether it can go no further until its results are recorded."""
        return self.is_finished or (self.recipient.ordered and self.channel.is_idle)

    @property
    def is_slow(self) -> bool:
        """Whether its requests, seen as a whole, failed or took long: they must not take the healthy workers."""
        channel = self.channel
        if not channel.sent:
            return self.was_slow
        return channel.failed * 2 > channel.sent or channel.busy_ms / channel.sent >= SLOW_ANSWER_MS
