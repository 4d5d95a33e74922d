"""What saving a model sets off."""

from typing import Any

from django.db import transaction
from django.db.models.signals import post_save

from deliveries import dispatch, publishing
from deliveries.models import Event
from endpoints.models import State, StateChange
from endpoints.signals import state_changed


def connect() -> None:
    """Called once, when the apps are ready."""
    post_save.connect(_fan_out_new_event, sender=Event, dispatch_uid="deliveries.fan_out_new_event")
    state_changed.connect(_wake_enabled_endpoint, dispatch_uid="deliveries.wake_enabled_endpoint")


def _fan_out_new_event(sender: type[Event], instance: Event, created: bool, raw: bool, **_kwargs: Any) -> None:
    # A fixture (raw) brings its own deliveries, or none on purpose.
    if created and not raw:
        publishing.fan_out([instance])


def _wake_enabled_endpoint(sender: Any, change: StateChange, **_kwargs: Any) -> None:
    # An archived endpoint's deliveries need no signal: the sweep buries them.
    if change.to_state == State.ACTIVE:
        transaction.on_commit(lambda: dispatch.wake([change.endpoint_id]), robust=True)
