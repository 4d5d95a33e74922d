"""When each sweep of the inbox last ran, kept in Redis and by its clock: hints for monitors, never the truth."""

import logging
from typing import Final

from redis import RedisError

from inbox.redis_client import redis_client

logger = logging.getLogger(__name__)

KEY: Final = "holdfast:inbox:sweeps"
KEEP_SECONDS: Final = 86_400

_NOTE: Final = """
redis.call('HSET', KEYS[1], ARGV[1], redis.call('TIME')[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
"""


def note(duty: str) -> None:
    """Say that a sweep just ran. Never raises."""
    try:
        redis_client().eval(_NOTE, 1, KEY, duty, KEEP_SECONDS)
    except RedisError as error:
        logger.warning("nobody is told that %s was swept: %s", duty, error)


def ages() -> dict[str, float]:
    """Whole seconds since each sweep ran; one that never did is missing. Raises RedisError."""
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.time()
    pipeline.hgetall(KEY)
    (now, _), noted = pipeline.execute()
    return {duty.decode(): max(now - float(at), 0.0) for duty, at in sorted(noted.items())}
