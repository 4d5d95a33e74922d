"""Signs of life in Redis: which workers are up, when each sweep last ran and a result was last recorded.

Hints for people and probes, never the truth.
"""

import json
import logging
import time
from dataclasses import dataclass
from typing import Final

from redis import RedisError

from deliveries.redis_client import redis_client

logger = logging.getLogger(__name__)

WORKERS_KEY: Final = "holdfast:workers"
DUTIES_KEY: Final = "holdfast:duties"

BEAT_SECONDS: Final = 5.0
GONE_SECONDS: Final = 20.0
"""A worker that has not been heard of for this long is not counted; it missed three beats."""

KEEP_SECONDS: Final = 86_400


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process that was heard of lately."""

    name: str
    queues: tuple[str, ...]
    seen_seconds_ago: float


def beat(worker: str, queues: list[str]) -> None:
    """Say that a worker is up. Raises RedisError."""
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.hset(WORKERS_KEY, worker, json.dumps({"at": time.time(), "queues": queues}))
    pipeline.expire(WORKERS_KEY, KEEP_SECONDS)
    pipeline.execute()


def leave(worker: str) -> None:
    """Say that a worker stops."""
    redis_client().hdel(WORKERS_KEY, worker)


def workers() -> list[Worker]:
    """The workers heard of within GONE_SECONDS; those gone for long are forgotten."""
    now = time.time()
    alive, forgotten = [], []
    for name, raw in redis_client().hgetall(WORKERS_KEY).items():
        said = json.loads(raw)
        age = max(now - said["at"], 0.0)
        if age <= GONE_SECONDS:
            alive.append(Worker(name.decode(), tuple(said["queues"]), age))
        elif age > KEEP_SECONDS:
            forgotten.append(name)
    if forgotten:
        redis_client().hdel(WORKERS_KEY, *forgotten)
    return sorted(alive, key=lambda worker: worker.name)


def note(duty: str) -> None:
    """Say that something that has to happen again and again just happened: a sweep by its duty, or `recorded`."""
    try:
        redis_client().hset(DUTIES_KEY, duty, time.time())
    except RedisError as error:
        logger.warning("nobody is told that %s was done: %s", duty, error)


def ages() -> dict[str, float]:
    """Seconds since each of them last happened; one that never did is missing."""
    now = time.time()
    return {duty.decode(): max(now - float(at), 0.0) for duty, at in redis_client().hgetall(DUTIES_KEY).items()}
