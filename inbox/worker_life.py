"""What a worker process does besides its tasks: it stops beginning events when it is told to stop."""

from typing import Any

from celery.signals import worker_shutting_down

from inbox.process import stopping


def connect() -> None:
    """Called once, when the apps are ready; nothing happens in a process that is no worker."""
    worker_shutting_down.connect(_stop, weak=False)


def _stop(**_kwargs: Any) -> None:
    stopping.set()
