"""Publish: record events and one delivery for each subscribed endpoint, in the caller's transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction

from deliveries import dispatch, lines
from deliveries.errors import IdempotencyConflict, InvalidEvent
from deliveries.models import Event
from deliveries.models.event import next_sequences
from deliveries.tracing import trace_id_of
from endpoints.matching import candidate_patterns, event_type_fault
from endpoints.policies import DEFAULT_POLICY

EVENTS_PER_STATEMENT = 1000

_INSERT_EVENTS = """
INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint, traceparent)
SELECT id, type, tenant, sequence, occurred_at, created_at, body, fingerprint, traceparent
FROM json_to_recordset(%s) AS given(id text, type text, tenant text, sequence bigint, occurred_at timestamptz,
                                    created_at timestamptz, body text, fingerprint text, traceparent text)
ORDER BY sequence
ON CONFLICT (id) DO NOTHING
RETURNING id
"""

# One statement whatever the number of events and endpoints. Ordered by sequence so that ids follow it. An outer join:
# even with the default policy's row gone, no endpoint is left out.
_FAN_OUT = """
INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset, next_attempt_at,
                                 deadline_at, last_outcome, created_at)
SELECT event.id, endpoint.id, 'pending', 0, 0, now(),
       now() + make_interval(secs => coalesce(policy.deadline_seconds, %(default_deadline)s)), '', now()
FROM json_to_recordset(%(events)s) AS event(position int, id text, tenant text, patterns varchar[])
JOIN endpoints_endpoint endpoint
  ON endpoint.tenant = event.tenant AND endpoint.state <> 'archived' AND endpoint.event_types && event.patterns
LEFT JOIN endpoints_retrypolicy policy
  ON policy.id = coalesce(endpoint.retry_policy_id, (SELECT id FROM endpoints_retrypolicy WHERE name = 'default'))
ORDER BY event.position
ON CONFLICT (event_id, endpoint_id) DO NOTHING
RETURNING endpoint_id, event_id
"""


def publish(
    type: str,
    data: dict[str, Any] | list[Any],
    *,
    tenant: str = "",
    id: str | None = None,
    occurred_at: datetime | None = None,
) -> Event:
    """Record an event and its deliveries in the caller's transaction; they leave when it commits.

    The same `id` again with the same content returns the stored event and sends nothing. `occurred_at` is an aware
    datetime, by default now. Raises InvalidEventType, InvalidPayload or PayloadTooLarge (all ValueErrors), and
    IdempotencyConflict when `id` is taken by other content; the caller's transaction stays usable.
    """
    event = Event(id=id or "", type=type, tenant=tenant)
    event.data = data
    if occurred_at is not None:
        event.occurred_at = occurred_at
    if id and (stored := Event.objects.filter(pk=id).first()):
        return _same_or_conflict(event, stored, occurred_at)
    try:
        with transaction.atomic():
            event.save()
    except IntegrityError:
        # Another transaction took the id between our look and our insert.
        return _same_or_conflict(event, Event.objects.get(pk=event.pk), occurred_at)
    return event


def publish_many(events: Iterable[dict[str, Any]]) -> list[Event]:
    """Record many events; each dict has the arguments of `publish` as keys. All are recorded or none.

    One round trip per thousand events, not per event. Returns the stored events in the order given. Raises what
    `publish` raises, with the position in the error's `field` (`events[3].data.price`).
    """
    given = list(events)
    stored: list[Event] = []
    with transaction.atomic():
        for first in range(0, len(given), EVENTS_PER_STATEMENT):
            chunk = given[first : first + EVENTS_PER_STATEMENT]
            # The first takes the turns of all of them at ordered endpoints.
            to_come = _kinds_among(given[EVENTS_PER_STATEMENT:]) if first == 0 else set()
            stored.extend(_publish_chunk(chunk, first, to_come))
    return stored


def fan_out(events: Sequence[Event]) -> None:
    """Insert the deliveries of new events and ring for their endpoints when the transaction commits."""
    given = [
        {"position": position, "id": event.pk, "tenant": event.tenant, "patterns": candidate_patterns(event.type)}
        for position, event in enumerate(events)
    ]
    with connection.cursor() as cursor:
        cursor.execute(_FAN_OUT, {"events": json.dumps(given), "default_deadline": DEFAULT_POLICY.deadline_seconds})
        rows = cursor.fetchall()
    endpoint_ids = {endpoint_id for endpoint_id, _ in rows}
    lines.EVENT_PUBLISHED.say_on_commit(_told(events, rows))
    if endpoint_ids:
        # Robust, and a plain function: a callback that raises would silence every later one of the caller's.
        transaction.on_commit(lambda: dispatch.wake(endpoint_ids), robust=True)


def _told(events: Sequence[Event], deliveries: Sequence[tuple[int, str]]) -> Iterator[dict[str, object]]:
    """Each event with the number of its deliveries."""
    counts = Counter(event_id for _, event_id in deliveries)
    for event in events:
        yield {
            "event_id": event.pk,
            "event_type": event.type,
            "tenant": event.tenant or None,
            "sequence": event.sequence,
            "deliveries": counts[event.pk],
            "trace_id": trace_id_of(event.traceparent),
        }


def _kinds_among(given: Iterable[dict[str, Any]]) -> set[tuple[str, str]]:
    """Tenants and types. What cannot be published is refused in its turn, with its position, and left out here."""
    pairs = [(fields.get("tenant") or "", fields.get("type")) for fields in given if isinstance(fields, dict)]
    kinds = {(tenant, type) for tenant, type in pairs if isinstance(tenant, str) and isinstance(type, str)}
    return {(tenant, type) for tenant, type in kinds if "\0" not in tenant and event_type_fault(type) is None}


def _publish_chunk(chunk: Sequence[dict[str, Any]], first_position: int, to_come: set[tuple[str, str]]) -> list[Event]:
    events = [_checked(fields, f"events[{first_position + offset}]") for offset, fields in enumerate(chunk)]
    for offset, (event, sequence) in enumerate(zip(events, next_sequences(events, to_come), strict=True)):
        with _located(f"events[{first_position + offset}]"):
            event.render(sequence)
        event._state.adding = False
    inserted = _insert(events)
    known = Event.objects.in_bulk([event.pk for event in events if event.pk not in inserted])
    fresh: list[Event] = []
    result: list[Event] = []
    for event, fields in zip(events, chunk, strict=True):
        if event.pk in inserted:
            # The first of equal ids in one call is the one that was inserted.
            inserted.discard(event.pk)
            known[event.pk] = event
            fresh.append(event)
            result.append(event)
        else:
            result.append(_same_or_conflict(event, known[event.pk], fields.get("occurred_at")))
    fan_out(fresh)
    return result


def _checked(fields: dict[str, Any], place: str) -> Event:
    unknown = set(fields) - {"type", "data", "tenant", "id", "occurred_at"}
    if unknown or not {"type", "data"} <= set(fields):
        raise InvalidEvent(
            f"{place} takes type, data, tenant, id and occurred_at; type and data are required.",
            field=place,
            rule="unknown-key" if unknown else "missing-key",
        )
    event = Event(
        **{"id": "", **{name: value for name, value in fields.items() if name != "data" and value is not None}}
    )
    event.data = fields["data"]
    with _located(place):
        event.ensure_publishable()
    return event


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Say in an error which of the events it is about."""
    try:
        yield
    except InvalidEvent as error:
        error.field = f"{place}.{error.field}"
        error.args = (f"{place}: {error}",)
        raise


def _insert(events: Sequence[Event]) -> set[str]:
    rows = [
        {
            "id": event.pk,
            "type": event.type,
            "tenant": event.tenant,
            "sequence": event.sequence,
            "occurred_at": event.occurred_at.isoformat(),
            "created_at": event.created_at.isoformat(),
            "body": event.body,
            "fingerprint": event.fingerprint,
            "traceparent": event.traceparent,
        }
        for event in events
    ]
    with connection.cursor() as cursor:
        cursor.execute(_INSERT_EVENTS, [json.dumps(rows)])
        return {row[0] for row in cursor.fetchall()}


def _same_or_conflict(event: Event, stored: Event, asked_time: datetime | None) -> Event:
    if not event.fingerprint:
        event.ensure_publishable()
        event.render(stored.sequence)
    if event.fingerprint != stored.fingerprint or asked_time not in (None, stored.occurred_at):
        raise IdempotencyConflict(stored.pk)
    return stored
