"""The composition root: it knows every app, no app knows it."""

from webhooks_project.celery import app as celery_app

__all__ = ["celery_app"]
