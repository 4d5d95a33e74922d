"""How many messages wait in each queue of the broker."""

from functools import lru_cache
from typing import Final

import redis
from celery import current_app
from redis.backoff import NoBackoff
from redis.retry import Retry

QUEUES: Final = ("deliveries", "deliveries.slow", "dead_letters", "inbox", "upkeep")

PATIENCE_SECONDS: Final = 3.0


def depths() -> dict[str, int]:
    """Messages by queue; whoever holds one already is not counted. Raises RedisError, after PATIENCE_SECONDS at most.

    To Redis a queue is a list of its name, as long as there is one priority (`priority_steps`), and an empty one is
    none. Asked over a connection that stays: to make one of kombu's takes as long as everything else of a scrape.
    """
    with _client(current_app.conf.broker_read_url or current_app.conf.broker_url).pipeline(transaction=False) as asked:
        for name in QUEUES:
            asked.llen(name)
        return dict(zip(QUEUES, asked.execute(), strict=True))


@lru_cache(maxsize=2)
def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=PATIENCE_SECONDS,
        socket_connect_timeout=PATIENCE_SECONDS,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
