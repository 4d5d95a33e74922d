"""The Celery application. Its settings, and the reason for each, are in `webhooks_project.broker`."""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, setup_logging, task_prerun
from django.conf import settings
from django.db import close_old_connections

from webhooks_project import last_words, redis_transport, tracing
from webhooks_project.boot import prepare

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")

redis_transport.install()

app = Celery("holdfast")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_configure.connect
def _ensure_services(**_kwargs: Any) -> None:
    """A worker or beat started by hand finds the embedded services just as `manage.py` does."""
    prepare()


@celeryd_init.connect
def _trace(**_kwargs: Any) -> None:
    tracing.start(wanted=settings.HOLDFAST_TRACING)


@task_prerun.connect
def _drop_dead_connections(task: Any = None, **_kwargs: Any) -> None:
    """A thread keeps its database connection from task to task; one that the server closed is replaced here."""
    if task is not None and not task.request.is_eager:
        close_old_connections()


@setup_logging.connect
def _log_as_django_does(**_kwargs: Any) -> None:
    """Celery leaves the log alone where somebody answers this; it would give its tasks' lines a format of their own.

    Said again what Django said before, as a worker may have loaded libraries with handlers since. LOG_LEVEL holds, and
    not the command's --loglevel.
    """
    logging.config.dictConfig(settings.LOGGING)
    if settings.LOGGING["handlers"]["console"]["formatter"] == "json":
        last_words.install()
