"""The Redis connection of the inbox: bells, and signs of life."""

from functools import lru_cache

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """A thread-safe client whose timeouts bound how long one request at the door can wait for Redis, once."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=1,
        socket_connect_timeout=0.5,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1),
        retry_on_error=[redis.ConnectionError],
    )
