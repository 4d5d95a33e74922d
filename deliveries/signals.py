"""What saving a model sets off."""

import logging
from typing import Any

from django.db import transaction
from django.db.models.signals import post_save
from redis import RedisError

from deliveries import dispatch, pacing, publishing
from deliveries.models import Event
from deliveries.transitions import verdicts
from endpoints.models import State, StateChange
from endpoints.signals import state_changed

logger = logging.getLogger(__name__)


def connect() -> None:
    """Called once, when the apps are ready."""
    post_save.connect(_fan_out_new_event, sender=Event, dispatch_uid="deliveries.fan_out_new_event")
    state_changed.connect(_resume_enabled_endpoint, dispatch_uid="deliveries.resume_enabled_endpoint")


def _fan_out_new_event(sender: type[Event], instance: Event, created: bool, raw: bool, **_kwargs: Any) -> None:
    # A fixture (raw) brings its own deliveries, or none on purpose.
    if created and not raw:
        publishing.fan_out([instance])


def _resume_enabled_endpoint(sender: Any, change: StateChange, **_kwargs: Any) -> None:
    # An archived endpoint's deliveries need no signal: the sweep buries them.
    if change.to_state == State.ACTIVE:
        verdicts.forget_level(change.endpoint_id, change.at)
        transaction.on_commit(lambda: _resume(change.endpoint_id, change.from_state), robust=True)


def _resume(endpoint_id: int, from_state: str) -> None:
    """What an endpoint held goes out on a ramp, and its old failures count no more."""
    try:
        pacing.resume(endpoint_id, f"was {from_state}", afresh=True)
    except RedisError as error:
        logger.warning("endpoint %s comes back without a ramp: %s", endpoint_id, error)
    dispatch.wake([endpoint_id])
