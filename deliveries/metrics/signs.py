"""Gauges of workers, sweeps and queues: signs of life in Redis, and the broker's depths."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from deliveries.metrics.families import gauge, gauges
from deliveries.watch import heartbeats
from deliveries.watch.queues import QUEUES, depths

RECORDED: Final = "recorded"


def families() -> Iterator[Metric]:
    """Who is alive. Raises RedisError."""
    ages = heartbeats.ages()
    workers = heartbeats.workers()
    yield gauges(
        "holdfast_sweep_age_seconds",
        "Since each sweep last ran; one that never did, or not for a day, is missing.",
        "sweep",
        {duty: age for duty, age in sorted(ages.items()) if duty != RECORDED},
    )
    if RECORDED in ages:
        yield gauge("holdfast_result_age_seconds", "Since a result was last recorded.", ages[RECORDED])
    yield gauge("holdfast_workers", "Worker processes heard of lately.", len(workers))
    working = Counter(queue for worker in workers for queue in worker.queues)
    yield gauges(
        "holdfast_queue_workers",
        "Worker processes heard of lately, by the queue they work; one may work several.",
        "queue",
        {name: working[name] for name in QUEUES},
    )
    yield gauge(
        "holdfast_worker_busy_seconds",
        "The longest that a worker has been at one task.",
        max((worker.busy_seconds or 0.0 for worker in workers), default=0.0),
    )


def queue_families() -> Iterator[Metric]:
    """What waits in the broker. Raises RedisError."""
    yield gauges(
        "holdfast_queue_depth",
        "Messages that wait in a queue; a message wakes many deliveries, so this is no backlog.",
        "queue",
        depths(),
    )
