"""The Redis connection of the inbox: bells, and signs of life."""

from functools import lru_cache
from typing import Final

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS: Final = 1.0
CONNECT_SECONDS: Final = 0.5


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """A thread-safe client whose timeouts bound how long one request at the door can wait for Redis, once.

    One retry covers an idle connection that the server closed; a timeout is not tried again.
    """
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
