"""The only voice to the broker: rings for endpoints, sets their timers, announces dead letters.

The rows are the truth and every message is only a hint, so nothing here raises when the broker is away: the sweep
rings again. An endpoint whose bell is already ringing is not rung twice, hence the broker holds a message an endpoint
at most, whatever the backlog.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import redis
from celery import current_app
from kombu.exceptions import KombuError

from deliveries.conf import conf
from deliveries.redis_client import redis_client

logger = logging.getLogger(__name__)

BELL_SECONDS = 30
"""How long a bell counts as ringing. A lost message is rung again after that; a long queue gets one message a span."""

QUIET_SECONDS = 5.0
"""How long this process leaves a broker alone that did not answer a ring: publishers must not wait for it each time."""

NEAR_SECONDS = 90.0
"""Waits up to this long travel as a Celery countdown, well inside the broker's visibility timeout; longer ones belong
to the sweep."""

TIMER_TOLERANCE_SECONDS = 1.0
"""A message that comes this little too late for a delivery is good enough: no second one is sent."""

_NEVER = float("inf")

SLOW_SECONDS = 360
"""How long an endpoint stays on the slow queue after its last bad drain; longer than a circuit waits for its probe."""

LEAST_PER_MESSAGE = 4
MESSAGES_PER_SET = 4

DELIVER, ANNOUNCE, PROBE = "deliveries.deliver", "deliveries.announce", "deliveries.probe"
HEALTHY_QUEUE, SLOW_QUEUE, DEAD_LETTER_QUEUE = "deliveries", "deliveries.slow", "dead_letters"

# A timer whose time has not come stays: its message is still on its way, and a second one would be one too many. Times
# are Redis's own, as the worker that sets a timer and the one that it wakes may disagree by their clocks.
_SILENCE = """
local time = redis.call('TIME')
local planned = tonumber(redis.call('GET', KEYS[2]))
if planned and planned <= time[1] + time[2] / 1000000 + 1 then redis.call('DEL', KEYS[2]) end
redis.call('DEL', KEYS[1])
return redis.call('EXISTS', KEYS[3])
"""

_NOTE_TIMER = """
local time = redis.call('TIME')
redis.call('SET', KEYS[1], string.format('%.3f', time[1] + time[2] / 1000000 + ARGV[1]), 'PX', ARGV[2])
"""

_UNREACHABLE = (redis.RedisError, KombuError, OSError)


class _Quiet:
    """Until when the broker is left alone, on the clock of `time.monotonic`. A race between threads costs one try."""

    until = 0.0


def wake(endpoint_ids: Collection[int], clock: Callable[[], float] = time.monotonic) -> int:
    """Ring for endpoints that have due deliveries; returns how many were rung. A bell that rings is left alone."""
    if clock() < _Quiet.until:
        return 0
    unrung: list[int] = []
    try:
        unrung, slow = _ring_bells(sorted(endpoint_ids))
        _send_wake_ups(unrung, slow)
    except _UNREACHABLE as error:
        _Quiet.until = clock() + QUIET_SECONDS
        # A bell that nobody will hear must not keep the sweep from ringing.
        _pipeline_each(unrung, lambda pipeline, id: pipeline.delete(_bell(id)))
        logger.warning("broker away, %d endpoints wait for the sweep: %s", len(endpoint_ids), error)
        return 0
    return len(unrung)


def silence(endpoint_ids: Sequence[int]) -> set[int]:
    """Called by a delivery task before it claims: whoever publishes from now on rings again.

    Returns those of the endpoints that are on the slow queue.
    """
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.eval(_SILENCE, 3, _bell(id), _timer(id), _slow(id))
    return {id for id, is_slow in zip(endpoint_ids, pipeline.execute(), strict=True) if is_slow}


def set_timers(waits: Mapping[int, float]) -> dict[int, float]:
    """Of the endpoints that become due in `waits` seconds, return those for which no message comes by then already.

    The caller sends one message for all of them, for when the first is due (a Celery retry with countdown). Waits
    beyond NEAR_SECONDS are left to the sweep.
    """
    near = {id: wait for id, wait in waits.items() if wait <= NEAR_SECONDS}
    if not near:
        return {}
    try:
        planned = _seconds_to_timers(near)
        unset = {id: wait for id, wait in near.items() if planned.get(id, _NEVER) > wait + TIMER_TOLERANCE_SECONDS}
        _note_timers(unset)
    except _UNREACHABLE as error:
        logger.warning("broker away, %d timers are left to the sweep: %s", len(near), error)
        return {}
    return unset


def route_timers(waits: Mapping[int, float]) -> tuple[str, dict[int, float]]:
    """The queue on which a task comes back for these endpoints (seconds by id), and for which of them it does.

    A slow endpoint's timer must not bring it back to the healthy workers, whichever of them set it. Where there are
    both kinds, the message for the slow ones is sent here.
    """
    try:
        slow = _slow_among(waits)
    except _UNREACHABLE as error:
        logger.warning("cannot tell slow endpoints from healthy ones: %s", error)
        slow = set()
    healthy = {id: wait for id, wait in waits.items() if id not in slow}
    if not healthy:
        return SLOW_QUEUE, dict(waits)
    if slow:
        _send_timer(SLOW_QUEUE, {id: waits[id] for id in slow})
    return HEALTHY_QUEUE, healthy


def send_timers(waits: Mapping[int, float]) -> None:
    """Send the messages for these endpoints (seconds by id), where no task is there to come back."""
    if waits:
        _send_timer(*route_timers(waits))


def countdown(waits: Mapping[int, float]) -> float:
    """Seconds until a message for these endpoints should come: when the first is due, but never at once."""
    return max(1.0, min(waits.values()))


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


def ring_for_probes(endpoint_ids: Sequence[int]) -> int:
    """Have disabled endpoints tried, by the slow queue: most of them still hang. Returns how many were rung for."""
    try:
        for chunk in _chunks(endpoint_ids, conf().wake_size):
            current_app.send_task(PROBE, args=[chunk], queue=SLOW_QUEUE)
    except _UNREACHABLE as error:
        logger.warning("broker away, %d probes wait for the sweep: %s", len(endpoint_ids), error)
        return 0
    return len(endpoint_ids)


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


def _seconds_to_timers(endpoint_ids: Collection[int]) -> dict[int, float]:
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.time()
    for id in endpoint_ids:
        pipeline.get(_timer(id))
    (seconds, microseconds), *planned = pipeline.execute()
    now = seconds + microseconds / 1_000_000
    return {id: float(at) - now for id, at in zip(endpoint_ids, planned, strict=True) if at is not None}


def _note_timers(waits: Mapping[int, float]) -> None:
    """Note for each endpoint when the one message for all of them comes."""
    if waits:
        soonest = min(waits.values())
        pipeline = redis_client().pipeline(transaction=False)
        for id in waits:
            pipeline.eval(_NOTE_TIMER, 1, _timer(id), soonest, int((soonest + BELL_SECONDS) * 1000))
        pipeline.execute()


def _send_wake_ups(endpoint_ids: Sequence[int], slow: Collection[int]) -> None:
    messages = [
        (queue, chunk)
        for queue, ids in (
            (HEALTHY_QUEUE, [id for id in endpoint_ids if id not in slow]),
            (SLOW_QUEUE, [id for id in endpoint_ids if id in slow]),
        )
        for chunk in _chunks(ids, _message_size(len(ids)))
    ]
    if not messages:
        return
    with current_app.producer_or_acquire() as producer:
        for queue, chunk in messages:
            current_app.send_task(DELIVER, args=[chunk], queue=queue, producer=producer)


def _slow_among(endpoint_ids: Collection[int]) -> set[int]:
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.exists(_slow(id))
    return {id for id, is_slow in zip(endpoint_ids, pipeline.execute(), strict=True) if is_slow}


def _send_timer(queue: str, waits: Mapping[int, float]) -> None:
    try:
        current_app.send_task(DELIVER, args=[sorted(waits)], queue=queue, countdown=countdown(waits))
    except _UNREACHABLE as error:
        logger.warning("broker away, %d timers are left to the sweep: %s", len(waits), error)


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


def _message_size(endpoints: int) -> int:
    """Endpoints one message names: few enough that several workers share a large set, enough to be worth a task."""
    return min(conf().wake_size, max(LEAST_PER_MESSAGE, -(-endpoints // MESSAGES_PER_SET)))


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
