"""When a failed event is tried again, or that it is not. Pure.

Full jitter, `random(0, min(cap, base * 2**n))` (Marc Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog,
2015), so that events that failed at one moment do not return at one moment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final

from inbox.errors import FailureClass


@dataclass(frozen=True, slots=True)
class Policy:
    """Waits grow from `base_seconds` to `cap_seconds`; after `max_attempts` in all the event is given up."""

    base_seconds: float
    cap_seconds: float
    max_attempts: int


POLICIES: Final[Mapping[FailureClass, Policy]] = MappingProxyType(
    {
        # About an hour in all on average, the first tries within seconds: a lock or a race is over by then.
        FailureClass.TRANSIENT: Policy(base_seconds=2, cap_seconds=900, max_attempts=12),
        # About two days: long enough for another system's bad weekend.
        FailureClass.DEPENDENCY: Policy(base_seconds=60, cap_seconds=6 * 3600, max_attempts=18),
        # What kills its worker again and again would take every worker down in turn.
        FailureClass.CRASHED: Policy(base_seconds=5, cap_seconds=300, max_attempts=5),
    }
)
"""The classes that are worth another try; every other one is given up at once."""


def delay_seconds(failure: FailureClass, attempt: int, rng: Random) -> float | None:
    """The wait after the failed `attempt`, counted from 1 in the current budget; None when it is given up."""
    policy = POLICIES.get(failure)
    if policy is None or attempt >= policy.max_attempts:
        return None
    # The exponent is bounded because a power of two beyond any cap only costs time.
    return rng.uniform(0, min(policy.cap_seconds, policy.base_seconds * 2 ** min(attempt - 1, 40)))
