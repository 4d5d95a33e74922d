"""Asks pacing about an endpoint that nobody asked about before, at times that the test names."""

import random
from dataclasses import dataclass, field
from itertools import count

from deliveries import pacing
from deliveries.pacing import Allowance, Tally
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client

WORKER, OTHER_WORKER = "the first worker", "the second worker"

_ids = count(1_000_000)
"""Fresh endpoints instead of an empty server: a flush before each of a thousand examples would be most of the work."""


@dataclass(slots=True)
class Asked:
    """One endpoint, one clock. Times are milliseconds since 1970, as large as real ones: they are rounded alike."""

    limit: float | None = None
    now_ms: int = 1_750_000_000_000
    id: int = field(default_factory=lambda: next(_ids))

    def pass_ms(self, milliseconds: int) -> None:
        """Let the time go by."""
        self.now_ms += milliseconds

    def take(self, wanted: int = 1, *, token: str = WORKER) -> Allowance:
        """Ask for requests now."""
        return pacing.take(token, {self.id: (wanted, self.limit)}, now_ms=self.now_ms)[self.id]

    def report(self, tally: Tally, *, seed: int = 0) -> str:
        """Tell now what became of requests."""
        return pacing.report({self.id: tally}, rng=random.Random(seed), now_ms=self.now_ms)[self.id]

    def fail(self, times: int, *, seed: int = 0) -> str:
        """Report failures and nothing else."""
        return self.report(Tally(bad=times, streak=times), seed=seed)

    def resume(self, reason: str = "was paused", *, afresh: bool = False) -> None:
        """Start a ramp now."""
        pacing.resume(self.id, reason, afresh=afresh, now_ms=self.now_ms)

    def leave(self, *, token: str = WORKER) -> bool:
        """Give up the lease; whether somebody had knocked."""
        return self.id in pacing.leave(token, [self.id], now_ms=self.now_ms)

    def give_back(self, requests: int, allowance: Allowance) -> None:
        """Return granted requests unused."""
        pacing.give_back({self.id: requests * allowance.interval_ms})

    def give_back_probe(self) -> None:
        """Return a granted probe unused."""
        pacing.give_back({}, [self.id], now_ms=self.now_ms)

    def lifetimes_ms(self) -> dict[str, int]:
        """How long each of its keys has to live; -1 is for ever."""
        found = redis_client().scan_iter(keys(self.id, "*")[0].replace("{", "\\{"), count=10_000)
        return {key.decode(): redis_client().pttl(key) for key in found}
