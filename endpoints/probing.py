"""When a disabled endpoint is tried again: the waits between its probes. Pure."""

from datetime import timedelta
from random import Random
from typing import Final

LONGEST_MINUTES: Final = 240.0
"""No wait grows beyond four hours: who mends an endpoint in the night finds it enabled in the morning."""

JITTER: Final = 0.25
"""Up to this share is added at random, so that endpoints that failed together are not tried together; as for the
circuit's probes."""


def wait_before_probe(tries: int, first_minutes: float, rng: Random) -> timedelta:
    """The wait after so many probes that failed (0: after the disabling): doubled each time, up to the longest.

    `first_minutes` is more than 0; when it is longer than the longest, every wait is as long as the first.
    """
    longest = max(LONGEST_MINUTES, first_minutes)
    minutes = min(longest, first_minutes * 2.0 ** min(tries, 30))
    return timedelta(minutes=minutes * (1 + rng.uniform(0, JITTER)))
