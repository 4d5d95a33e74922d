"""How fast a backlog drains: Holdfast beside the bare loop and beside one Celery task a delivery.

All three send as many of the same deliveries to the same receiver, out of the same database server, with as many worker
processes. They take turns, so that a noisy machine is noisy for all. A leg counts only when every delivery is recorded
as delivered by one attempt and the receiver saw each exactly once, validly signed.
"""

import os
import time

from bench import backlog, scoreboard
from bench.cpu import read_cpu
from bench.crew import Crew
from bench.errors import BenchFailed
from bench.legs.bare import bare
from bench.legs.holdfast import holdfast
from bench.legs.leg import Leg
from bench.legs.naive import naive
from bench.scoreboard import Reading
from bench.size import Size, size_from
from demo.receiver.client import ReceiverProcess

LEGS = {"bare": bare, "naive": naive, "holdfast": holdfast}

ROUND = ("bare", "holdfast", "naive", "holdfast", "bare")
"""There and back, so that a drift of the machine cancels out. The naive leg takes the longest: once a round will do."""

PATIENCE_SECONDS = 20.0
"""When nothing has arrived for so long, something is stuck."""


class LegFailed(BenchFailed):
    """A leg lost, repeated or did not finish a delivery, so its rate means nothing."""


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises LegFailed."""
    size = size_from(os.environ)
    print(
        f"Drain: {size.deliveries:,} deliveries to {size.endpoints} endpoints, {size.processes} worker processes each,"
    )
    print(
        f"       {os.cpu_count()} cores shared with the receiver, PostgreSQL and the broker; {size.rounds} round(s).\n"
    )
    readings: dict[str, list[Reading]] = {name: [] for name in LEGS}
    with ReceiverProcess() as receiver:
        destinations = backlog.make_destinations(receiver, size.endpoints)
        for number in range(1, size.rounds + 1):
            for name in ROUND:
                reading = _measure(LEGS[name](destinations), size, receiver)
                readings[name].append(reading)
                print(f"  round {number}: {name:<9}{reading.per_second:>7,.0f}/s", flush=True)
    print("\n" + scoreboard.table(readings))
    return scoreboard.figures(readings)


def _measure(leg: Leg, size: Size, receiver: ReceiverProcess) -> Reading:
    receiver.forget()
    backlog.prefill(size.events)
    with Crew(leg.command, size.processes) as crew:
        leg.brief(crew)
        crew.wait_ready()
        before = read_cpu(crew.pids, receiver.pid)
        begun = time.monotonic()
        leg.ring(crew)
        _wait_until_drained(crew, receiver, size.deliveries)
        seconds = time.monotonic() - begun
        cpu = read_cpu(crew.pids, receiver.pid) - before
    _check(leg.name, size.deliveries, receiver)
    return Reading(size.deliveries, seconds, cpu)


def _wait_until_drained(crew: Crew, receiver: ReceiverProcess, deliveries: int) -> None:
    # First at the receiver, which costs nobody anything, and only for the last results at the database.
    arrived, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    while not receiver.wait_for(timeout=1.0, accepted=deliveries) and time.monotonic() < deadline:
        crew.check()
        if (accepted := receiver.stats()["accepted"]) > arrived:
            arrived, deadline = accepted, time.monotonic() + PATIENCE_SECONDS
    if not backlog.wait_until_final(time.monotonic() + PATIENCE_SECONDS):
        raise LegFailed(f"It is stuck; the deliveries stand at {backlog.statuses()}.")


def _check(name: str, deliveries: int, receiver: ReceiverProcess) -> None:
    stats, signatures = receiver.stats(), receiver.verify()
    found = {
        "recorded as delivered": backlog.statuses().get("delivered", 0),
        "attempts recorded": backlog.attempts(),
        "requests received": stats["requests"],
        "distinct requests received": stats["distinct"],
        "valid signatures": signatures["good"],
    }
    if wrong := {what: count for what, count in found.items() if count != deliveries}:
        raise LegFailed(f"The {name} leg had {deliveries} deliveries to make, but: {wrong}")
