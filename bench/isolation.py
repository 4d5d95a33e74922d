"""Does an endpoint that hangs delay the others? From commit to receipt, measured with and without it.

A process publishes 100 events a second for 20 endpoints in turn. None, one or ten of them hang: each request to them
lasts until the timeout, and 10,000 deliveries are due to each from the start. Where none hangs, the first endpoint is
not there at all. The same schedule runs three ways and back again, so that a drift of the machine cancels out.
"""

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from bench import publisher
from bench.arrivals import percentile
from bench.crew import Crew
from bench.errors import BenchFailed
from bench.ground import clear_broker
from bench.stack import healthy_and_slow
from deliveries import dispatch
from deliveries.publishing import publish_many
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint

ENDPOINTS = 20
EVENTS_PER_SECOND = 100
SECONDS = 15.0
BACKLOG = 10_000
LEGS = {"alone": 0, "one_hanging": 1, "ten_hanging": 10}
ROUND = ("alone", "one_hanging", "ten_hanging", "ten_hanging", "one_hanging", "alone")

END_SECONDS = 120.0

KEPT_SHARE = 0.95
"""A publisher that manages less of its rate shows a machine that is too busy: the latencies are those of its queues."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One leg: seconds from commit to receipt of every event, the requests that the hanging ones got, the rate kept."""

    latencies: list[float]
    hanging_requests: int
    published_per_second: float


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises BenchFailed."""
    seconds = float(os.environ.get("BENCH_SECONDS") or SECONDS)
    readings: dict[str, list[Reading]] = {name: [] for name in LEGS}
    print(f"Isolation: {EVENTS_PER_SECOND} events a second for {seconds:g} s, six times; ms from commit to receipt.\n")
    print(f"{'':14}{'median':>9}{'p95':>9}{'p99':>9}{'longest':>9}{'requests to the hanging':>27}")
    with ReceiverProcess() as receiver, tempfile.TemporaryDirectory() as folder:
        endpoints = [_endpoint(receiver, number) for number in range(ENDPOINTS)]
        with Crew(lambda _number: publisher.command(), 1) as publishing:
            publishing.wait_ready()
            for turn, name in enumerate(ROUND):
                reading = _measure(receiver, publishing, Path(folder) / str(turn), endpoints, LEGS[name], seconds)
                readings[name].append(reading)
                _print(name, [reading])
    print()
    for name, both in readings.items():
        _print(name, both)
    print()
    if (slowest := min(reading.published_per_second for both in readings.values() for reading in both)) < (
        KEPT_SHARE * EVENTS_PER_SECOND
    ):
        print(
            f"Beware: the publisher managed {slowest:.0f} events a second only; this machine is too busy to compare.\n"
        )
    return {f"p95_{name}_ms": round(1000 * _percentile(both, 95), 2) for name, both in readings.items()}


def _endpoint(receiver: ReceiverProcess, number: int) -> Endpoint:
    return Endpoint.objects.create(
        url=receiver.url(f"/named/{number}"), event_types=[f"bench.isolation.{number}", "bench.backlog"]
    )


def _measure(
    receiver: ReceiverProcess, publishing: Crew, file: Path, endpoints: list[Endpoint], hanging: int, seconds: float
) -> Reading:
    _set_the_scene(receiver, endpoints, hanging)
    healthy, ill = range(max(hanging, 1), ENDPOINTS), range(hanging)
    with healthy_and_slow() as crew:
        crew.wait_ready()
        dispatch.wake([endpoints[number].pk for number in ill])
        # Seven apart, so that events for hanging and for healthy endpoints alternate.
        types = " ".join(f"bench.isolation.{number * 7 % ENDPOINTS}" for number in range(ENDPOINTS))
        publishing.tell(f"{EVENTS_PER_SECOND} {seconds} {file} {types}")
        _wait_for(file, crew, seconds + END_SECONDS)
        commits = publisher.read_commits(file)
        latencies = _latencies(receiver, commits, healthy, time.monotonic() + END_SECONDS)
        counts = receiver.stats()["paths"]
    requests = sum(counts.get(f"/named/{number}", {}).get("requests", 0) for number in ill)
    return Reading(latencies, requests, (len(commits) - 1) / (max(commits.values()) - min(commits.values())))


def _set_the_scene(receiver: ReceiverProcess, endpoints: list[Endpoint], hanging: int) -> None:
    """Nothing is left of the leg before; the first `hanging` endpoints hang and have a backlog."""
    receiver.forget()
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE deliveries_event RESTART IDENTITY CASCADE")
    for number, endpoint in enumerate(endpoints):
        receiver.behave(str(number), "hang" if number < hanging else "ok")
        own = [] if number == hanging == 0 else [f"bench.isolation.{number}"]
        endpoint.event_types = [*own, *(["bench.backlog"] if number < hanging else [])] or ["bench.nothing"]
        endpoint.save()
    if hanging:
        publish_many({"type": "bench.backlog", "data": {"number": number}} for number in range(BACKLOG))
    clear_broker()
    with connection.cursor() as cursor:
        # As if the backlog had been there for a while: writing it down is not what is measured.
        cursor.execute("VACUUM ANALYZE deliveries_event, deliveries_delivery")
        cursor.execute("CHECKPOINT")


def _wait_for(file: Path, crew: Crew, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not file.exists():
        crew.check()
        if time.monotonic() > deadline:
            raise BenchFailed(f"The publisher was not through after {seconds:g} s.")
        time.sleep(0.1)


def _latencies(receiver: ReceiverProcess, commits: dict[str, float], healthy: range, deadline: float) -> list[float]:
    """Wait until every event for a healthy endpoint was received, and return how long each took."""
    paths = {f"/named/{number}" for number in healthy}
    expected = len(commits) * len(healthy) // ENDPOINTS
    while True:
        arrivals = {
            request["webhook-id"]: request["monotonic"]
            for request in receiver.requests(bodies=0)
            if request["path"] in paths
        }
        if len(arrivals) >= expected:
            return [arrivals[id] - moment for id, moment in commits.items() if id in arrivals]
        if time.monotonic() > deadline:
            raise BenchFailed(f"{expected - len(arrivals)} of {expected} events for healthy endpoints did not arrive.")
        time.sleep(0.5)


def _percentile(readings: list[Reading], percent: float) -> float:
    return percentile([latency for reading in readings for latency in reading.latencies], percent)


def _print(name: str, readings: list[Reading]) -> None:
    figures = [_percentile(readings, percent) * 1000 for percent in (50, 95, 99, 100)]
    requests = sum(reading.hanging_requests for reading in readings)
    print(f"{name:14}" + "".join(f"{figure:>9.1f}" for figure in figures) + f"{requests:>27}", flush=True)
