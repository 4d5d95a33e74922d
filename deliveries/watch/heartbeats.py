"""Signs of life in Redis: which workers are up, when each sweep last ran and a result was last recorded.

Hints for people and probes, never the truth. All moments are Redis's own, so that no clock but one decides who is
alive: a worker whose clock is five minutes off is heard like any other.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis import RedisError

from deliveries.redis_client import redis_client

logger = logging.getLogger(__name__)

WORKERS_KEY: Final = "holdfast:workers"
DUTIES_KEY: Final = "holdfast:duties"

BEAT_SECONDS: Final = 5.0
GONE_SECONDS: Final = 20.0
"""A worker that has not been heard of for this long is not counted; it missed three beats."""

KEEP_SECONDS: Final = 86_400

_NOTE: Final = """
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f', time[1] + time[2] / 1000000) .. ' ' .. ARGV[2])
redis.call('EXPIRE', KEYS[1], ARGV[3])
"""


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process that was heard of lately. `busy_seconds`: how long it has been at its oldest task."""

    name: str
    queues: tuple[str, ...]
    seen_seconds_ago: float
    busy_seconds: float | None = None


def beat(worker: str, queues: Sequence[str], busy_seconds: float | None = None) -> None:
    """Say that a worker is up. Raises RedisError."""
    _note(WORKERS_KEY, worker, json.dumps({"queues": list(queues), "busy_seconds": busy_seconds}))


def leave(worker: str) -> None:
    """Say that a worker stops. Raises RedisError."""
    redis_client().hdel(WORKERS_KEY, worker)


def workers() -> list[Worker]:
    """The workers heard of within GONE_SECONDS, by name; those gone for long are forgotten. Raises RedisError."""
    alive, forgotten = [], []
    for name, (age, said) in _read(WORKERS_KEY).items():
        if age <= GONE_SECONDS:
            words: dict[str, Any] = json.loads(said)
            alive.append(Worker(name, tuple(words["queues"]), age, words["busy_seconds"]))
        elif age > KEEP_SECONDS:
            forgotten.append(name)
    if forgotten:
        redis_client().hdel(WORKERS_KEY, *forgotten)
    return sorted(alive, key=lambda worker: worker.name)


def note(duty: str) -> None:
    """Say that something that has to happen again and again just happened: a sweep by its duty, or `recorded`."""
    try:
        _note(DUTIES_KEY, duty, "")
    except RedisError as error:
        logger.warning("nobody is told that %s was done: %s", duty, error)


def ages() -> dict[str, float]:
    """Seconds since each of them last happened; one that never did is missing. Raises RedisError."""
    return {duty: age for duty, (age, _said) in _read(DUTIES_KEY).items()}


def _note(key: str, field: str, words: str) -> None:
    redis_client().eval(_NOTE, 1, key, field, words, KEEP_SECONDS)


def _read(key: str) -> dict[str, tuple[float, str]]:
    """Seconds since each field was noted, and the words that came with it."""
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.time()
    pipeline.hgetall(key)
    (seconds, microseconds), fields = pipeline.execute()
    now = seconds + microseconds / 1_000_000
    noted = {name.decode(): raw.decode().partition(" ") for name, raw in fields.items()}
    return {name: (max(now - float(at), 0.0), words) for name, (at, _, words) in noted.items()}
