"""What a worker process does besides its tasks: it says that it is up, and stops sending when it is told to stop."""

import logging
import threading
from typing import Any

from celery.signals import worker_ready, worker_shutdown, worker_shutting_down
from redis import RedisError

from deliveries.drain import sending
from deliveries.watch import heartbeats

logger = logging.getLogger(__name__)

_stopped = threading.Event()


def connect() -> None:
    """Called once, when the apps are ready; nothing happens in a process that is no worker."""
    worker_ready.connect(_start_beating, weak=False)
    worker_shutting_down.connect(_stop_sending, weak=False)
    worker_shutdown.connect(_stop_beating, weak=False)


def _start_beating(sender: Any, **_kwargs: Any) -> None:
    # `sender` is the worker's consumer: it knows its name and the queues it reads.
    queues = sorted(queue.name for queue in sender.task_consumer.queues)
    threading.Thread(target=_beat, args=(sender.hostname, queues), name="heartbeat", daemon=True).start()


def _beat(worker: str, queues: list[str]) -> None:
    while not _stopped.is_set():
        try:
            heartbeats.beat(worker, queues)
        except RedisError as error:
            logger.warning("the heartbeat is not heard: %s", error)
        _stopped.wait(heartbeats.BEAT_SECONDS)


def _stop_sending(**_kwargs: Any) -> None:
    """Drains hand back what they have not sent, so that a stop takes no longer than the requests in flight."""
    sending.stopping.set()


def _stop_beating(sender: Any, **_kwargs: Any) -> None:
    _stopped.set()
    try:
        heartbeats.leave(sender.hostname)
    except RedisError:
        logger.info("the worker leaves without a word: Redis is away")
