"""The seven endpoints of the demo, and their retry policies (pure)."""

from dataclasses import dataclass
from typing import Any, Final

EVENTS: Final = 200

TENANT: Final = "demo"

POLICY: Final[dict[str, Any]] = {"kind": "exponential", "base_seconds": 1, "cap_seconds": 2, "max_attempts": 4}
"""Seconds where a real policy has minutes and hours: the `default` one goes on for three days."""

PATIENT, SHORT = "demo", "demo, short"

DEADLINES_SECONDS: Final = {PATIENT: 90, SHORT: 14}
"""The retry policies by name. The short one is for the two endpoints that never recover: a deadline ends their wait."""


@dataclass(frozen=True, slots=True)
class Part:
    """One endpoint: `path` is what the receiver does (`demo.receiver.behaviours`), its last segment the part's name.

    A path under `/named/` begins with the behaviour `at_first`, until the story changes it.
    """

    name: str
    path: str
    answers: str
    expectation: str
    at_first: str = ""
    timeout_seconds: int = 5
    policy: str = PATIENT

    @property
    def description(self) -> str:
        """What the endpoint's row says about it."""
        return f"{self.name}: answers {self.answers}"


HEALTHY = Part("healthy", "/ok/healthy", "200", "delivered at the first attempt")
SLOW = Part(
    "slow",
    "/slow/3/slow",
    "200, but after 3 s",
    "timeouts open its circuit: a probe now and then, dead letters at the deadline",
    timeout_seconds=1,
    policy=SHORT,
)
FLAKY = Part(
    "flaky",
    "/stumble/2/flaky",
    "500 twice, then 200",
    "two are tried again; all are delivered",
)
BROKEN = Part(
    "broken",
    "/status/500/broken",
    "500, always",
    "its circuit opens and stays open: dead letters at the deadline",
    policy=SHORT,
)
PICKY = Part(
    "picky",
    "/named/picky",
    "422",
    "refused for good: a dead letter each, at once, until somebody mends the receiver",
    at_first="status/422",
)
GONE = Part("gone", "/status/410/gone", "410", "disabled at the first answer; the rest is held, not sent")
THROTTLED = Part(
    "throttled",
    "/brake/1/3/throttled",
    "429 with Retry-After: 1 s",
    "the whole endpoint is left alone that long; then a ramp, and all are delivered",
)

CAST: Final = (HEALTHY, SLOW, FLAKY, BROKEN, PICKY, GONE, THROTTLED)

DELIVERIES: Final = EVENTS * len(CAST)


def events() -> list[dict[str, Any]]:
    """What is published: orders, each with an invoice number, in the form `publish_many` takes."""
    types = ("order.placed", "order.paid", "order.shipped", "order.returned")
    return [
        {
            "type": types[number % len(types)],
            "tenant": TENANT,
            "data": {"order": 1000 + number, "customer": "Søren Müller", "total": f"{number * 1.25:.2f} EUR"},
        }
        for number in range(EVENTS)
    ]
