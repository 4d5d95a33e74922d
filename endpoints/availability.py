"""Availability: pause, disable, enable, archive an endpoint. Every move is one guarded UPDATE with its ledger row."""

from dataclasses import dataclass
from typing import Final

from django.db import connection, transaction

from endpoints import lines
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint, State, StateChange
from endpoints.signals import state_changed
from journal import scrubbed


@dataclass(frozen=True, slots=True)
class _Move:
    name: str
    legal_from: tuple[State, ...]
    to: State


_PAUSE: Final = _Move("paused", (State.ACTIVE,), State.PAUSED)
_DISABLE: Final = _Move("disabled", (State.ACTIVE, State.PAUSED), State.DISABLED)
_ENABLE: Final = _Move("enabled", (State.PAUSED, State.DISABLED), State.ACTIVE)
_ARCHIVE: Final = _Move("archived", (State.ACTIVE, State.PAUSED, State.DISABLED), State.ARCHIVED)

# Two movers at once: the second waits for the row, then sees the state the first one left, and is refused.
_GUARDED_UPDATE = """
WITH old AS (SELECT id, state FROM endpoints_endpoint WHERE id = %(id)s AND state = ANY(%(legal_from)s) FOR UPDATE)
UPDATE endpoints_endpoint endpoint
SET state = %(to)s, state_reason = %(reason)s, state_changed_by = %(actor)s, state_changed_at = now(),
    updated_at = now()
FROM old WHERE endpoint.id = old.id
RETURNING old.state, endpoint.state_changed_at
"""


def pause(endpoint: Endpoint | int, *, actor: str, reason: str) -> StateChange:
    """Hold an active endpoint's deliveries until somebody enables it; new ones are still recorded.

    Here and below: `endpoint` is the row or its id (a row given is brought up to date), `actor` a user name, rule or
    command, `reason` a sentence for the ledger. Raises TransitionRefused naming the state that forbids the move.
    """
    return _move(_PAUSE, endpoint, actor, reason)


def disable(endpoint: Endpoint | int, *, actor: str, reason: str) -> StateChange:
    """Hold an endpoint's deliveries because it is broken or gone; from active or paused."""
    return _move(_DISABLE, endpoint, actor, reason)


def enable(endpoint: Endpoint | int, *, actor: str, reason: str = "") -> StateChange:
    """Let a paused or disabled endpoint receive again; what it held goes out on a ramp, what expired stays dead."""
    return _move(_ENABLE, endpoint, actor, reason or "Enabled again.")


def archive(endpoint: Endpoint | int, *, actor: str, reason: str) -> StateChange:
    """Retire an endpoint for good: it gets no new deliveries, and those still waiting become dead letters."""
    return _move(_ARCHIVE, endpoint, actor, reason)


def _move(move: _Move, endpoint: Endpoint | int, actor: str, reason: str) -> StateChange:
    if not actor or not reason.strip():
        raise ValueError("A change of state names its actor and its reason.")
    id = endpoint if isinstance(endpoint, int) else endpoint.pk
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(
                _GUARDED_UPDATE,
                {"id": id, "legal_from": list(move.legal_from), "to": move.to, "reason": reason, "actor": actor},
            )
            row = cursor.fetchone()
        if row is None:
            raise _refusal(move, id)
        change = StateChange.objects.create(
            endpoint_id=id, from_state=row[0], to_state=move.to, actor=actor, reason=reason, at=row[1]
        )
        state_changed.send(sender=Endpoint, change=change)
        lines.STATE_CHANGED.say_on_commit([_facts(change)])
    if isinstance(endpoint, Endpoint):
        endpoint.refresh_from_db(fields=["state", "state_reason", "state_changed_at", "state_changed_by", "updated_at"])
    return change


def _facts(change: StateChange) -> dict[str, object]:
    return {
        "endpoint_id": change.endpoint_id,
        "from_state": change.from_state,
        "to_state": change.to_state,
        "actor": change.actor,
        "reason": scrubbed(change.reason),
    }


def _refusal(move: _Move, id: int) -> TransitionRefused:
    state = Endpoint.objects.filter(pk=id).values_list("state", flat=True).first()
    if state is None:
        return TransitionRefused(f"There is no endpoint {id}.")
    allowed = " or ".join(move.legal_from)
    return TransitionRefused(f"Endpoint {id} is {state}; only one that is {allowed} can be {move.name}.")
