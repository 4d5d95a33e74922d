"""What grows? A backlog behind a dead endpoint in the broker, and a worker in its own memory, over 200,000 deliveries.

First a dead endpoint gets its backlog while the stack runs: its circuit opens, wake-ups and timers come and go, and the
memory of the broker is compared with that before. Publishing to another endpoint is timed without the backlog, with
it, and without it again, in rounds: the best round counts, as a shared machine only ever makes one slower. Then one
worker delivers as many, portion by portion; its memory after the first fifth, when every thread, connection and cache
is there, is compared with the last.
"""

import os
import time
from collections.abc import Iterable
from statistics import median

import psutil
import redis
from django.db import connection

from bench import backlog
from bench.crew import Crew
from bench.errors import BenchFailed
from bench.stack import equal_workers, healthy_and_slow
from deliveries import dispatch, pacing
from deliveries.models import Delivery
from deliveries.publishing import publish, publish_many
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint

DELIVERIES = 200_000
PORTIONS = 20
WARM_PORTIONS = PORTIONS // 5
ROUNDS = 10
PUBLISHES_A_ROUND = 60
PUBLISH_EVERY_SECONDS = 0.025
WATCH_SECONDS = 15.0
"""How long the broker is watched with the backlog: many sweeps, and a few probes of the circuit."""

END_SECONDS = 60.0
MEGABYTE = 1_000_000


def run() -> dict[str, float]:
    """Measure, print what is found and return the figures. Raises BenchFailed."""
    deliveries = int(os.environ.get("BENCH_MEMORY_DELIVERIES") or DELIVERIES)
    with ReceiverProcess() as receiver:
        print(f"Memory: {deliveries:,} deliveries behind a dead endpoint, then as many delivered by one worker.\n")
        grown, ratio = _behind_a_dead_endpoint(receiver, deliveries)
        start, end = _through_one_worker(receiver, deliveries)
    return {
        "worker_rss_start_mb": round(start, 1),
        "worker_rss_end_mb": round(end, 1),
        "valkey_backlog_mb": round(grown, 3),
        "publish_ratio": round(ratio, 3),
    }


def _behind_a_dead_endpoint(receiver: ReceiverProcess, deliveries: int) -> tuple[float, float]:
    """Megabytes the broker grew by, and how many times as long a publish for another endpoint takes."""
    dead = Endpoint.objects.create(url="http://127.0.0.1:9/dead", event_types=["bench.dead"])
    Endpoint.objects.create(url=receiver.url("/ok/other"), event_types=["bench.other"])
    with healthy_and_slow() as crew:
        crew.wait_ready()
        _best_publish()
        without, before = [_best_publish()], _broker_bytes()
        publish_many(_events("bench.dead", deliveries))
        _wait_for_open_circuit(dead.pk, crew)
        grown = max(_broker_bytes_for(WATCH_SECONDS)) - before
        with_backlog = _best_publish()
        waiting = Delivery.objects.filter(endpoint=dead).exclude(status="delivered").count()
        if waiting != deliveries:
            raise BenchFailed(f"Only {waiting:,} of {deliveries:,} deliveries wait behind the dead endpoint.")
        with connection.cursor() as cursor:
            cursor.execute("TRUNCATE deliveries_event CASCADE")
            cursor.execute("VACUUM ANALYZE deliveries_event, deliveries_delivery")
        without.append(_best_publish())
    print(f"  the broker grew by {grown / MEGABYTE:.3f} MB")
    print(
        f"  a publish took {without[0]:.2f} ms before, {with_backlog:.2f} with, {without[1]:.2f} ms after the backlog"
    )
    return grown / MEGABYTE, with_backlog / (sum(without) / len(without))


def _through_one_worker(receiver: ReceiverProcess, deliveries: int) -> tuple[float, float]:
    """The worker's resident memory in megabytes when it is warm, and at the end."""
    backlog.prefill(0)
    endpoints = [Endpoint.objects.create(url=receiver.url(f"/ok/{n}"), event_types=["bench.memory"]) for n in range(4)]
    ids = [endpoint.pk for endpoint in endpoints]
    sizes: list[float] = []
    with equal_workers(1) as crew:
        crew.wait_ready()
        worker = psutil.Process(crew.pids[0])
        for portion in range(1, PORTIONS + 1):
            receiver.forget()
            publish_many(_events("bench.memory", deliveries // PORTIONS // len(ids)))
            dispatch.wake(ids)
            if not backlog.wait_until_final(time.monotonic() + END_SECONDS):
                crew.check()
                raise BenchFailed(f"It is stuck; the deliveries stand at {backlog.statuses()}.")
            sizes.append(worker.memory_info().rss / MEGABYTE)
            print(f"  {portion * (deliveries // PORTIONS):>9,} delivered: {sizes[-1]:6.1f} MB", flush=True)
    warm = sizes[WARM_PORTIONS - 1 :]
    print(f"  after the warm-up {_slope(warm) * PORTIONS / (deliveries / 100_000):+.2f} MB for each 100,000 more\n")
    return warm[0], median(warm[-3:])


def _slope(values: list[float]) -> float:
    """Growth from one value to the next, by least squares."""
    middle = (len(values) - 1) / 2
    spread = sum((position - middle) ** 2 for position in range(len(values)))
    return sum((position - middle) * value for position, value in enumerate(values)) / spread


def _events(type: str, count: int) -> Iterable[dict[str, object]]:
    return ({"type": type, "data": {"number": number, "note": "x" * 400}} for number in range(count))


def _best_publish() -> float:
    """Milliseconds: the lowest of the rounds' medians."""
    return min(_publish_median() for _ in range(ROUNDS))


def _publish_median() -> float:
    took = []
    for number in range(PUBLISHES_A_ROUND):
        began = time.perf_counter()
        publish("bench.other", {"number": number, "note": "x" * 400})
        took.append(time.perf_counter() - began)
        # What was published is delivered before the next: the two do not compete for the cores.
        time.sleep(max(0.0, began + PUBLISH_EVERY_SECONDS - time.perf_counter()))
    return 1000 * median(took)


def _broker_bytes() -> int:
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as broker:
        return int(broker.info("memory")["used_memory"])


def _broker_bytes_for(seconds: float) -> Iterable[int]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield _broker_bytes()
        time.sleep(0.25)


def _wait_for_open_circuit(endpoint_id: int, crew: Crew) -> None:
    deadline = time.monotonic() + END_SECONDS
    while pacing.describe([endpoint_id])[endpoint_id].circuit != "open":
        crew.check()
        if time.monotonic() > deadline:
            raise BenchFailed(f"The circuit did not open within {END_SECONDS:g} s.")
        time.sleep(0.1)
