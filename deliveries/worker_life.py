"""What a worker process does besides its tasks: it says that it is up, and stops sending when it is told to stop."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from celery.signals import celeryd_init, worker_ready, worker_shutdown, worker_shutting_down
from celery.worker import state
from redis import RedisError

from deliveries.drain import sending
from deliveries.watch import heartbeats
from journal import name_worker

logger = logging.getLogger(__name__)

THREAD_NAME: Final = "heartbeat"
GOODBYE_SECONDS: Final = 2.0

_stopped = threading.Event()


def connect() -> None:
    """Called once, when the apps are ready; nothing happens in a process that is no worker."""
    celeryd_init.connect(_name_lines, weak=False)
    worker_ready.connect(_start_beating, weak=False)
    worker_shutting_down.connect(_stop_sending, weak=False)
    worker_shutdown.connect(_stop_beating, weak=False)


def _name_lines(sender: str, **_kwargs: Any) -> None:
    name_worker(sender)


def _start_beating(sender: Any, **_kwargs: Any) -> None:
    # `sender` is the worker's consumer: it knows its name and the queues it reads.
    queues = sorted(queue.name for queue in sender.task_consumer.queues)
    threading.Thread(target=_beat, args=(sender.hostname, queues), name=THREAD_NAME, daemon=True).start()


def _beat(worker: str, queues: Sequence[str]) -> None:
    while not _stopped.is_set():
        try:
            heartbeats.beat(worker, queues, _oldest_task_seconds())
        except RedisError as error:
            logger.warning("the heartbeat is not heard: %s", error)
        _stopped.wait(heartbeats.BEAT_SECONDS)
    try:
        heartbeats.leave(worker)
    except RedisError:
        logger.info("the worker leaves without a word: Redis is away")


def _oldest_task_seconds() -> float | None:
    """How long the task that has run the longest has been running."""
    begun = [request.time_start for request in list(state.active_requests) if request.time_start]
    return max(time.time() - min(begun), 0.0) if begun else None


def _stop_sending(**_kwargs: Any) -> None:
    """Drains hand back what they have not sent, so that a stop takes no longer than the requests in flight."""
    sending.stopping.set()


def _stop_beating(**_kwargs: Any) -> None:
    """The beating thread says goodbye itself, so that no beat comes after it. Redis away must not hold up the stop."""
    _stopped.set()
    for thread in threading.enumerate():
        if thread.name == THREAD_NAME:
            thread.join(GOODBYE_SECONDS)
