"""The numbers of pacing. Pure. Times are seconds."""

import math
from typing import Final

LEASE_SECONDS: Final = 35.0
"""Longer than any pause between two takes of a working drain, the longest request included; short, so that a dead
worker's endpoint soon moves on."""

BURST_SECONDS: Final = 0.2
"""How much of a rate limit may go out at once, so that a worker needs a few takes a second, not one a request."""

OPEN_STREAK: Final = 5
"""Failures in a row that open the circuit."""

OPEN_SAMPLES: Final = 20
OPEN_RATIO: Final = 0.5
"""Share of failures that opens it, once a window holds that many results."""

WINDOW_SECONDS: Final = 60.0

FIRST_OPEN_SECONDS: Final = 10.0
LONGEST_OPEN_SECONDS: Final = 300.0
"""How long an open circuit waits before its probe: doubled at each failed probe, up to the longest."""

PROBE_SECONDS: Final = 45.0
"""How long a probe may take to report before the next one is let through: the longest request and its recording."""

RAMP_SECONDS: Final = 60.0
"""How long the rate takes from slow to full after a circuit closed, a pause ended or a big redrive began."""

RAMP_FULL_PER_SECOND: Final = 1000.0
"""Where the ramp of an endpoint without a limit ends; past it nothing is limited."""

RAMP_START_SHARE: Final = 1 / 64

SLOW_DOWN_SECONDS: Final = 2.0
"""How long an endpoint that asked for less without naming a time is left alone."""

KEEP_SECONDS: Final = 90_000
"""How long the pace of an endpoint is remembered after the last word about it; the scripts say the same. An hour more
than the longest Retry-After, so that the ramp behind it is not forgotten."""


def burst_size(rate: float) -> int:
    """Requests that a rate of `rate` a second lets out at once."""
    return max(1, math.ceil(rate * BURST_SECONDS))


def ramp_rate(full: float, elapsed_seconds: float) -> float:
    """Requests a second, `elapsed_seconds` into a ramp that ends at `full`; grows by a constant factor each second."""
    start = min(full, max(1.0, full * RAMP_START_SHARE))
    share = min(max(elapsed_seconds, 0.0) / RAMP_SECONDS, 1.0)
    return float(start * (full / start) ** share)
