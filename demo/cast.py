"""The seven endpoints of the demo, and the retry policy they share (pure)."""

from dataclasses import dataclass
from typing import Any, Final

EVENTS: Final = 200

TENANT: Final = "demo"

POLICY: Final[dict[str, Any]] = {
    "name": "demo",
    "kind": "exponential",
    "base_seconds": 1,
    "cap_seconds": 2,
    "max_attempts": 4,
    "deadline_seconds": 120,
}
"""Seconds where a real policy has minutes and hours: the `default` one goes on for three days."""


@dataclass(frozen=True, slots=True)
class Part:
    """One endpoint: `path` is what the receiver does (`demo.receiver.behaviours`), its last segment the part's name.

    `concurrency` is high where answers take long or come in rounds, so that the demo ends soon.
    """

    name: str
    path: str
    answers: str
    expectation: str
    concurrency: int = 8
    timeout_seconds: int = 5

    @property
    def description(self) -> str:
        """What the endpoint's row says about it."""
        return f"{self.name}: answers {self.answers}"


HEALTHY = Part("healthy", "/ok/healthy", "200", "delivered at the first attempt")
SLOW = Part(
    "slow",
    "/slow/3/slow",
    "200, but after 3 s",
    "its timeout is 1 s: every attempt times out, then a dead letter",
    concurrency=100,
    timeout_seconds=1,
)
FLAKY = Part("flaky", "/flaky/2/flaky", "500 twice, then 200", "delivered at the third attempt")
BROKEN = Part("broken", "/status/500/broken", "500, always", "four attempts with backoff, then a dead letter")
PICKY = Part("picky", "/named/picky", "422", "refused for good: a dead letter at once, until the receiver is mended")
GONE = Part("gone", "/status/410/gone", "410", "disabled at the first answer; the rest is held, not sent")
THROTTLED = Part(
    "throttled", "/throttle/1/1/throttled", "429 first, then 200", "slowed down as it asked, then delivered", 50
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
