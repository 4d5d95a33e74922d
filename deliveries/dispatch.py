"""The only voice to the broker: rings for endpoints, sets their timers, announces dead letters.

The rows are the truth and every message is only a hint, so nothing here raises when the broker is away: the sweep
rings again. An endpoint whose bell is already ringing is not rung twice, hence the broker holds a message an endpoint
at most, whatever the backlog.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import redis
from celery import current_app
from kombu.exceptions import KombuError

from deliveries.conf import conf
from deliveries.redis_client import redis_client

logger = logging.getLogger(__name__)

BELL_SECONDS = 30
"""How long a bell counts as ringing. A lost message is rung again after that; a long queue gets one message a span."""

NEAR_SECONDS = 90.0
"""Waits up to this long travel as a Celery countdown, well inside the broker's visibility timeout; longer ones belong
to the sweep."""

SLOW_SECONDS = 360
"""How long an endpoint stays on the slow queue after its last bad drain; longer than a circuit waits for its probe."""

DELIVER, ANNOUNCE = "deliveries.deliver", "deliveries.announce"
HEALTHY_QUEUE, SLOW_QUEUE, DEAD_LETTER_QUEUE = "deliveries", "deliveries.slow", "dead_letters"

# One timer an endpoint, unless the new one is earlier by more than the tolerance.
_SET_TIMER = """
local planned = tonumber(redis.call('GET', KEYS[1]))
if planned and planned <= tonumber(ARGV[1]) + 1 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

_UNREACHABLE = (redis.RedisError, KombuError, OSError)


def wake(endpoint_ids: Collection[int]) -> int:
    """Ring for endpoints that have due deliveries; returns how many were rung. A bell that rings is left alone."""
    try:
        unrung, slow = _ring_bells(sorted(endpoint_ids))
        _send_wake_ups(unrung, slow)
    except _UNREACHABLE as error:
        logger.warning("broker away, %d endpoints wait for the sweep: %s", len(endpoint_ids), error)
        return 0
    return len(unrung)


def silence(endpoint_ids: Sequence[int]) -> set[int]:
    """Called by a delivery task before it claims: whoever publishes from now on rings again.

    Returns those of the endpoints that are on the slow queue.
    """
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.delete(_bell(id), _timer(id))
        pipeline.exists(_slow(id))
    answers = pipeline.execute()[1::2]
    return {id for id, is_slow in zip(endpoint_ids, answers, strict=True) if is_slow}


def set_timers(waits: Mapping[int, float]) -> dict[int, float]:
    """Of the endpoints that become due in `waits` seconds, return those for which no earlier timer is set already.

    The caller sends the message (a Celery retry with countdown); waits beyond NEAR_SECONDS are left to the sweep.
    """
    near = {id: wait for id, wait in waits.items() if wait <= NEAR_SECONDS}
    if not near:
        return {}
    now = time.time()
    pipeline = redis_client().pipeline(transaction=False)
    for id, wait in near.items():
        pipeline.eval(_SET_TIMER, 1, _timer(id), now + wait, int((wait + BELL_SECONDS) * 1000))
    try:
        answers = pipeline.execute()
    except _UNREACHABLE as error:
        logger.warning("broker away, %d timers are left to the sweep: %s", len(near), error)
        return {}
    return {id: wait for (id, wait), is_set in zip(near.items(), answers, strict=True) if is_set}


def mark_slow(endpoint_ids: Collection[int]) -> None:
    """Send the next wake-ups of these endpoints to the slow queue, so that they cannot take the healthy workers."""
    _pipeline_each(endpoint_ids, lambda pipeline, id: pipeline.set(_slow(id), 1, ex=SLOW_SECONDS))


def mark_healthy(endpoint_ids: Collection[int]) -> None:
    """Bring these endpoints back to the healthy queue."""
    _pipeline_each(endpoint_ids, lambda pipeline, id: pipeline.delete(_slow(id)))


def announce(dead_letter_ids: Collection[int]) -> None:
    """Tell the consumer of the dead-letter queue about new dead letters."""
    if not dead_letter_ids:
        return
    try:
        current_app.send_task(ANNOUNCE, args=[sorted(dead_letter_ids)], queue=DEAD_LETTER_QUEUE)
    except _UNREACHABLE as error:
        logger.warning("broker away, %d dead letters wait for the sweep: %s", len(dead_letter_ids), error)


def _ring_bells(endpoint_ids: Sequence[int]) -> tuple[list[int], set[int]]:
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.set(_bell(id), 1, nx=True, ex=BELL_SECONDS)
    for id in endpoint_ids:
        pipeline.exists(_slow(id))
    answers = pipeline.execute()
    rung, slow = answers[: len(endpoint_ids)], answers[len(endpoint_ids) :]
    return (
        [id for id, is_rung in zip(endpoint_ids, rung, strict=True) if is_rung],
        {id for id, is_slow in zip(endpoint_ids, slow, strict=True) if is_slow},
    )


def _send_wake_ups(endpoint_ids: Sequence[int], slow: Collection[int]) -> None:
    messages = [
        (queue, chunk)
        for queue, ids in (
            (HEALTHY_QUEUE, [id for id in endpoint_ids if id not in slow]),
            (SLOW_QUEUE, [id for id in endpoint_ids if id in slow]),
        )
        for chunk in _chunks(ids, conf().wake_size)
    ]
    if not messages:
        return
    with current_app.producer_or_acquire() as producer:
        for queue, chunk in messages:
            current_app.send_task(DELIVER, args=[chunk], queue=queue, producer=producer)


def _pipeline_each(endpoint_ids: Collection[int], command: object) -> None:
    if not endpoint_ids:
        return
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        command(pipeline, id)  # type: ignore[operator]
    try:
        pipeline.execute()
    except _UNREACHABLE as error:
        logger.warning("cannot mark endpoints slow or healthy: %s", error)


def _chunks(ids: Iterable[int], size: int) -> Iterator[list[int]]:
    iterator = iter(ids)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _bell(endpoint_id: int) -> str:
    return f"holdfast:{{{endpoint_id}}}:bell"


def _timer(endpoint_id: int) -> str:
    return f"holdfast:{{{endpoint_id}}}:timer"


def _slow(endpoint_id: int) -> str:
    return f"holdfast:{{{endpoint_id}}}:slow"
