"""What a worker process does besides its tasks: it stops beginning events when it is told to stop."""

from typing import Any

from celery.signals import celeryd_init, worker_shutting_down

from inbox.process import stopping
from journal import name_worker


def connect() -> None:
    """Called once, when the apps are ready; nothing happens in a process that is no worker."""
    celeryd_init.connect(_name_lines, weak=False)
    worker_shutting_down.connect(_stop, weak=False)


def _name_lines(sender: str, **_kwargs: Any) -> None:
    name_worker(sender)


def _stop(**_kwargs: Any) -> None:
    stopping.set()
