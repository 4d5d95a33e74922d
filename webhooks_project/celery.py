"""The Celery application. Its settings, and the reason for each, are in `webhooks_project.broker`."""

import os
from typing import Any

from celery import Celery
from celery.signals import task_prerun
from django.db import close_old_connections

from webhooks_project import redis_transport
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


@task_prerun.connect
def _drop_dead_connections(task: Any = None, **_kwargs: Any) -> None:
    """A thread keeps its database connection from task to task; one that the server closed is replaced here."""
    if task is not None and not task.request.is_eager:
        close_old_connections()
