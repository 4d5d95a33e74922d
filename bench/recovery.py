"""How does an endpoint get its backlog after an outage? Measured at the receiver, from its first request on.

The endpoint, which asked for 200 requests a second, is down while 5,000 deliveries pile up; its circuit opens. Then it
comes back on the same port. Nobody tells Holdfast: a probe finds it, and the ramp begins.
"""

import os
import time
from collections.abc import Sequence

from bench import backlog
from bench.arrivals import each_second, most_in_a_second
from bench.errors import BenchFailed
from bench.ground import clear_broker
from bench.stack import healthy_and_slow
from deliveries import dispatch, pacing
from deliveries.pacing import rules
from deliveries.publishing import publish_many
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint

DELIVERIES = 5_000
LIMIT = 200

OPEN_SECONDS = 30.0
END_SECONDS = 180.0


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises BenchFailed."""
    deliveries = int(os.environ.get("BENCH_DELIVERIES") or DELIVERIES)
    with ReceiverProcess() as receiver:
        endpoint = Endpoint.objects.create(
            url=receiver.url("/ok/back"), event_types=["bench.recovery"], rate_limit_per_second=LIMIT
        )
    publish_many({"type": "bench.recovery", "data": {"number": number}} for number in range(deliveries))
    clear_broker()
    with healthy_and_slow() as crew:
        crew.wait_ready()
        dispatch.wake([endpoint.pk])
        _wait_until_open(endpoint.pk)
        attempts_while_down = backlog.attempts()
        with ReceiverProcess(port=receiver.port) as receiver:
            deadline = time.monotonic() + END_SECONDS
            while not receiver.wait_for(timeout=1.0, accepted=deliveries) and time.monotonic() < deadline:
                crew.check()
            backlog.wait_until_final(deadline)
            arrivals = sorted(request["monotonic"] for request in receiver.requests(bodies=0))
            accepted = receiver.stats()["accepted"]
    delivered = backlog.statuses().get("delivered", 0)
    print(f"Recovery: {deliveries:,} deliveries; {attempts_while_down} attempts found the endpoint down.\n")
    return _figures(arrivals, lost=deliveries - accepted, delivered=delivered)


def _wait_until_open(endpoint_id: int) -> None:
    deadline = time.monotonic() + OPEN_SECONDS
    while pacing.describe([endpoint_id])[endpoint_id].circuit != "open":
        if time.monotonic() > deadline:
            raise BenchFailed(f"The circuit did not open within {OPEN_SECONDS:g} s.")
        time.sleep(0.1)


def _figures(arrivals: Sequence[float], *, lost: int, delivered: int) -> dict[str, float]:
    if not arrivals:
        raise BenchFailed("The endpoint came back and got nothing.")
    # The last second is a part of one.
    seconds = each_second(arrivals, arrivals[0], int(arrivals[-1] - arrivals[0]))
    _print(seconds)
    plateau = seconds[int(rules.RAMP_SECONDS) + 1 :]
    if not plateau:
        raise BenchFailed("All was delivered before the ramp ended: there is no plateau to compare with.")
    return {
        "lost": lost,
        "peak_second": most_in_a_second(arrivals),
        "plateau_mean": round(sum(plateau) / len(plateau), 1),
        "delivered": delivered,
    }


def _print(seconds: Sequence[int], step: int = 5) -> None:
    print(f"{'second':>8}{'requests/s':>12}{'as the ramp says':>18}")
    for begin in range(0, len(seconds), step):
        share = seconds[begin : begin + step]
        planned = sum(rules.ramp_rate(LIMIT, begin + second + 0.5) for second in range(len(share)))
        print(f"{begin:>8}{sum(share) / len(share):>12.1f}{planned / len(share):>18.1f}")
    print(flush=True)
