"""Ties beat to the bench: named as the Celery application, it is the project's own, plus the leash."""

import threading

from celery.signals import beat_init

from bench.leash import end_with_standard_input, tell_ready
from webhooks_project import roles
from webhooks_project.celery import app

__all__ = ["app"]


@beat_init.connect
def _tie(**_kwargs: object) -> None:
    threading.Thread(target=end_with_standard_input, daemon=True).start()
    tell_ready()


def leashed_beat() -> list[str]:
    """Production's command for beat, tied to the bench."""
    tied = [__name__ if word == "webhooks_project" else word for word in roles.beat()]
    return [*tied, "--loglevel", "WARNING"]
