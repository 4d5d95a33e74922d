"""The Redis connection that wake-ups and pacing share."""

from functools import lru_cache
from typing import Final

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

ANSWER_SECONDS: Final = 3.0
CONNECT_SECONDS: Final = 2.0


@lru_cache(maxsize=1)
def redis_client() -> redis.Redis:
    """A thread-safe client for `REDIS_URL`.

    The timeouts bound how long a publisher can hang on a dead broker; one retry on a fresh connection covers an idle
    connection that the server closed. A timeout is not tried again: it would be waited for twice.
    """
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=ANSWER_SECONDS,
        socket_connect_timeout=CONNECT_SECONDS,
        socket_keepalive=True,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )
