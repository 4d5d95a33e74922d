"""The Celery application. Its settings, and the reason for each, are in `webhooks_project.broker`."""

import os

from celery import Celery

from webhooks_project.boot import prepare

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")

app = Celery("holdfast")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_configure.connect
def _ensure_services(**_kwargs: object) -> None:
    """A worker or beat started by hand finds the embedded services just as `manage.py` does."""
    prepare()
