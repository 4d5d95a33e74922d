"""What pacing should do, said a second time and more simply: the models that the scripts are compared with.

Nothing here follows the scripts' own reckoning: the bucket holds tokens, the circuit keeps the results it has seen.
"""

import math
from dataclasses import dataclass, field

from deliveries.pacing import rules

NEARLY = 0.01
"""Tokens that rounding to microseconds may cost or give at the fastest rates."""


@dataclass(slots=True)
class Bucket:
    """Tokens that drip in at `rate` a second, up to `size`; starts full. Times are milliseconds."""

    rate: float
    size: float
    tokens: float = field(init=False)
    at_ms: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.size

    def pass_until(self, now_ms: float) -> None:
        """Let the time go by and the tokens come in."""
        self.tokens = min(self.size, self.tokens + (now_ms - self.at_ms) * self.rate / 1000)
        self.at_ms = now_ms

    def allows(self, wanted: int) -> tuple[int, int]:
        """The fewest and the most that may be granted now; they differ only when a token is a hair from whole."""
        return min(wanted, math.floor(self.tokens - NEARLY)), min(wanted, math.floor(self.tokens + NEARLY))

    def pay(self, granted: int) -> None:
        """Take out what was granted."""
        self.tokens -= granted


@dataclass(slots=True)
class Circuit:
    """Opens at a streak or a share of failures, lets probes through one at a time, and waits longer each time.

    Times are seconds. `wait` is the shortest time that it stays open; jitter may add a quarter.
    """

    state: str = "closed"
    wait: float = 0.0
    times_opened: int = 0
    streak: int = 0
    results: list[bool] = field(default_factory=list)
    window_from: float | None = None

    def see(self, now: float, good: int, bad: int, trailing: int) -> str:
        """Take in results, `trailing` failures of them last; gives the state afterwards."""
        if self.state == "half-open":
            self._see_probe(good, bad)
        elif self.state == "closed":
            self._see_traffic(now, good, bad, trailing)
        return self.state

    def let_probe_through(self) -> None:
        """The wait is over and one request was granted."""
        self.state = "half-open"

    def _see_probe(self, good: int, bad: int) -> None:
        if good:
            self.state, self.streak, self.results, self.window_from = "closed", 0, [], None
        elif bad:
            self._open()

    def _see_traffic(self, now: float, good: int, bad: int, trailing: int) -> None:
        if self.window_from is None:
            self.window_from = now
        if now - self.window_from > rules.WINDOW_SECONDS:
            self.window_from, self.results = now, []
            self.times_opened = self.times_opened if bad else 0
        self.results += [True] * good + [False] * bad
        self.streak = trailing if good else self.streak + bad
        share = self.results.count(False) / len(self.results) if self.results else 0.0
        is_ill = len(self.results) >= rules.OPEN_SAMPLES and share >= rules.OPEN_RATIO
        if bad and (self.streak >= rules.OPEN_STREAK or is_ill):
            self._open()

    def _open(self) -> None:
        self.times_opened += 1
        self.wait = min(rules.FIRST_OPEN_SECONDS * 2 ** (self.times_opened - 1), rules.LONGEST_OPEN_SECONDS)
        self.state, self.streak, self.results = "open", 0, []
