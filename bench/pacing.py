"""Does every endpoint get what it asked for, and never more? Measured at the receiver, second by second.

Eight endpoints with limits of 10, 50 and 100 requests a second have a backlog of thousands and two workers share them,
for 20 seconds.
"""

import os
import time
from dataclasses import dataclass

from bench.arrivals import most_in_a_second, seconds_above
from bench.errors import BenchFailed
from bench.ground import clear_broker
from bench.stack import equal_workers
from deliveries import dispatch
from deliveries.pacing.rules import burst_size
from deliveries.publishing import publish_many
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint

LIMITS = (10, 50, 100, 10, 50, 100, 50, 100)
WORKERS = 2
SECONDS = 20.0
SPARE = 1.5
"""How much more is due than the limits let out, so that nothing ever waits for events."""

START_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Line:
    """What one endpoint got."""

    limit: int
    received: int
    peak: int
    seconds_above: int
    seconds: float

    @property
    def share(self) -> float:
        """Of the requests that its limit allows in the time."""
        return self.received / (self.limit * self.seconds)


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises BenchFailed."""
    seconds = float(os.environ.get("BENCH_SECONDS") or SECONDS)
    with ReceiverProcess() as receiver:
        endpoints = [_endpoint(receiver, number, limit) for number, limit in enumerate(LIMITS)]
        publish_many(
            {"type": f"bench.pacing.{number}", "data": {"number": count}}
            for number, limit in enumerate(LIMITS)
            for count in range(int(limit * seconds * SPARE))
        )
        clear_broker()
        with equal_workers(WORKERS) as crew:
            crew.wait_ready()
            dispatch.wake([endpoint.pk for endpoint in endpoints])
            if not receiver.wait_for(requests=1, timeout=START_SECONDS):
                raise BenchFailed(f"Nothing was sent within {START_SECONDS:g} s.")
            time.sleep(seconds + 1)
            crew.check()
            lines = [_line(receiver, number, limit, seconds) for number, limit in enumerate(LIMITS)]
    _print(lines)
    return {
        "worst_share": round(min(line.share for line in lines), 3),
        "over_admitted_seconds": sum(line.seconds_above for line in lines),
    }


def _endpoint(receiver: ReceiverProcess, number: int, limit: int) -> Endpoint:
    return Endpoint.objects.create(
        url=receiver.url(f"/ok/{number}"), event_types=[f"bench.pacing.{number}"], rate_limit_per_second=limit
    )


def _line(receiver: ReceiverProcess, number: int, limit: int, seconds: float) -> Line:
    arrivals = sorted(request["monotonic"] for request in receiver.requests(f"/ok/{number}", bodies=0))
    # Each endpoint's time begins with its own first request, and with it goes out the burst that it is allowed.
    counted = [arrival for arrival in arrivals if arrival < arrivals[0] + seconds]
    allowed = limit + burst_size(limit)
    return Line(limit, len(counted), most_in_a_second(counted), seconds_above(counted, allowed), seconds)


def _print(lines: list[Line]) -> None:
    print(f"Pacing: {len(lines)} endpoints, {WORKERS} workers, {lines[0].seconds:g} s.\n")
    print(f"{'limit/s':>8}{'received':>10}{'share':>8}{'most in a second':>18}{'allowed':>9}{'seconds above':>15}")
    for line in lines:
        allowed = line.limit + burst_size(line.limit)
        print(
            f"{line.limit:>8}{line.received:>10}{line.share:>8.3f}{line.peak:>18}{allowed:>9}{line.seconds_above:>15}"
        )
    print()
