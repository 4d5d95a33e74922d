"""What saving a model sets off."""

from typing import Any

from django.db.models.signals import post_save

from deliveries import publishing
from deliveries.models import Event


def connect() -> None:
    """Called once, when the apps are ready."""
    post_save.connect(_fan_out_new_event, sender=Event, dispatch_uid="deliveries.fan_out_new_event")


def _fan_out_new_event(sender: type[Event], instance: Event, created: bool, raw: bool, **_kwargs: Any) -> None:
    # A fixture (raw) brings its own deliveries, or none on purpose.
    if created and not raw:
        publishing.fan_out([instance])
