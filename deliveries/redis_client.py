"""The Redis connection that wake-ups and pacing share."""

from functools import lru_cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """A thread-safe client for `REDIS_URL`.

    The timeouts bound how long a publisher can hang on a dead broker; one retry on a fresh connection covers an idle
    connection that the server closed.
    """
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=3,
        socket_connect_timeout=2,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1),
        retry_on_error=[redis.ConnectionError],
    )
