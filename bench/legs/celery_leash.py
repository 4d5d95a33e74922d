"""Ties a Celery worker to the bench: the worker includes this module, and nothing else tells it from production."""

import threading

from celery.signals import worker_ready

from bench.leash import end_with_standard_input, tell_ready
from webhooks_project import roles


@worker_ready.connect
def _tie(**_kwargs: object) -> None:
    threading.Thread(target=end_with_standard_input, daemon=True).start()
    tell_ready()


def leashed_worker(name: str, queues: tuple[str, ...]) -> list[str]:
    """Production's command for a worker, tied to the bench, without a log line for every task."""
    return [*roles.worker(name, queues), "--include", __name__, "--loglevel", "WARNING"]
