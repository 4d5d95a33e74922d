"""The only voice to the broker: rings for sources that have due events.

The rows are the truth and a message is only a hint, so nothing here raises when the broker is away: the sweep rings
again. A source whose bell is ringing is not rung twice, hence the broker holds few messages, however many events.
"""

import logging
import time
from collections.abc import Callable, Collection
from typing import Final

import redis
from celery import current_app
from kombu.exceptions import KombuError

from inbox.redis_client import redis_client

logger = logging.getLogger(__name__)

BELL_SECONDS: Final = 10
"""How long a bell counts as ringing: after that a message that got lost, or whose worker died, is sent again. Where
workers are far behind, one a span and source piles up; each that comes too late costs a claim that finds nothing."""

QUIET_SECONDS: Final = 5.0
"""How long this process leaves a broker alone that did not answer: the door must not wait for it at every request."""

PROCESS, QUEUE = "inbox.process", "inbox"

_UNREACHABLE = (redis.RedisError, KombuError, OSError)


class _Quiet:
    """Until when the broker is left alone, on the clock of `time.monotonic`. A race between threads costs one try."""

    until = 0.0


def wake(source_ids: Collection[int], clock: Callable[[], float] = time.monotonic) -> int:
    """Ring for sources that have due events; returns how many were rung. A bell that rings is left alone."""
    if clock() < _Quiet.until:
        return 0
    rung: list[int] = []
    try:
        for id in sorted(source_ids):
            if redis_client().set(_bell(id), 1, nx=True, ex=BELL_SECONDS):
                rung.append(id)
                current_app.send_task(PROCESS, args=[id], queue=QUEUE)
    except _UNREACHABLE as error:
        _Quiet.until = clock() + QUIET_SECONDS
        logger.warning("broker away, %d sources wait for the sweep: %s", len(source_ids), error)
        # A bell that nobody will hear must not keep the sweep from ringing.
        _forget(rung[-1:])
        return len(rung[:-1])
    return len(rung)


def silence(source_id: int) -> None:
    """Called by a task before it claims: whoever stores an event from now on rings again."""
    _forget([source_id])


def _forget(source_ids: list[int]) -> None:
    try:
        for id in source_ids:
            redis_client().delete(_bell(id))
    except _UNREACHABLE as error:
        logger.warning("a bell rings on for at most %d s: %s", BELL_SECONDS, error)


def _bell(source_id: int) -> str:
    return f"holdfast:inbox:{{{source_id}}}:bell"
