"""Events: what happened, with the exact bytes every endpoint will get."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from deliveries import payloads, tracing
from deliveries.errors import InvalidEventType, InvalidPayload
from endpoints.matching import candidate_patterns, event_type_fault


class Event(models.Model):
    """One thing that happened to a tenant. Immutable; its body is rendered once, before the row is written.

    `Event(type=…, data=…).save()` does what `deliveries.publish` does: the fan-out hangs on the save signal.
    """

    id = models.CharField(primary_key=True, max_length=64)
    type = models.CharField(max_length=128)
    tenant = models.CharField(max_length=128, blank=True, default="")
    sequence = models.BigIntegerField(editable=False, help_text="Grows with every event; part of the body.")
    occurred_at = models.DateTimeField(help_text="The body's created_at.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    body = models.TextField(editable=False, help_text="The exact text that is signed and sent, as UTF-8.")
    fingerprint = models.CharField(max_length=64, editable=False, help_text="Tells same content from other content.")
    traceparent = models.CharField(
        max_length=tracing.TRACEPARENT_LENGTH,
        null=True,
        blank=True,
        editable=False,
        help_text="The trace it was published in, where OpenTelemetry is in use.",
    )

    class Meta:
        ordering: ClassVar = ["-sequence"]
        permissions: ClassVar = [("replay_event", "Can replay events")]
        constraints: ClassVar = [
            models.CheckConstraint(name="event_has_an_id", condition=~Q(id="")),
            models.CheckConstraint(name="event_body_is_rendered", condition=~Q(body="")),
            models.UniqueConstraint(fields=["sequence"], name="event_sequence_is_unique"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["type", "-sequence"], name="event_by_type"),
            models.Index(fields=["tenant", "-sequence"], name="event_by_tenant"),
            models.Index(fields=["created_at"], name="event_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.id}"

    @property
    def data(self) -> Any:
        """The payload: what the caller gave, or, on a stored event, what the body holds."""
        if "_data" not in self.__dict__:
            self._data = json.loads(self.body)["data"] if self.body else None
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data = value

    def ensure_publishable(self) -> None:
        """Raise InvalidEventType or InvalidPayload when the event cannot even be matched with endpoints."""
        if fault := event_type_fault(self.type):
            raise InvalidEventType(fault)
        if not isinstance(self.tenant, str) or len(self.tenant) > 128 or "\0" in self.tenant:
            raise InvalidPayload("The tenant is text of at most 128 characters.", field="tenant", rule="malformed")

    def render(self, sequence: int) -> None:
        """Fill in whatever is missing (id, time, body, fingerprint) for a new event that was checked.

        Raises InvalidPayload or PayloadTooLarge; nothing has been written then.
        """
        now = timezone.now()
        self.id = self.id or payloads.new_event_id(now)
        if fault := payloads.event_id_fault(self.id):
            raise InvalidPayload(fault, field="id", rule="malformed")
        self.occurred_at = self.occurred_at or now
        if not isinstance(self.occurred_at, datetime) or timezone.is_naive(self.occurred_at):
            raise InvalidPayload("occurred_at is a datetime with a time zone.", field="occurred_at", rule="naive")
        self.sequence = sequence
        self.traceparent = self.traceparent or tracing.current_traceparent()
        self.body = payloads.render(
            id=self.id, type=self.type, created_at=self.occurred_at, sequence=sequence, data=self.data
        )
        self.fingerprint = payloads.fingerprint(type=self.type, tenant=self.tenant, data=self.data)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Render, insert and fan out, all or nothing. An event is never updated."""
        if not self._state.adding:
            raise TypeError("An event is immutable: its body may already be on its way.")
        self.ensure_publishable()
        with transaction.atomic(using=kwargs.get("using")):
            self.render(next_sequences([self])[0])
            super().save(*args, **kwargs | {"force_insert": True})


# Publishers to one ordered endpoint take turns from here to their commit, so that the numbers, the order of the
# deliveries and the order in which they become visible are one. In the order of the endpoints' numbers, so that two
# calls that publish to the same ones wait for each other instead of deadlocking.
_NEXT_SEQUENCES = """
WITH ordered AS MATERIALIZED (
    SELECT DISTINCT endpoint.id
    FROM json_to_recordset(%(events)s) AS event(tenant text, patterns varchar[])
    JOIN endpoints_endpoint endpoint
      ON endpoint.ordered AND endpoint.tenant = event.tenant AND endpoint.state <> 'archived'
     AND endpoint.event_types && event.patterns
    ORDER BY endpoint.id
), locked AS MATERIALIZED (
    SELECT count(pg_advisory_xact_lock(hashtext('holdfast.ordered'), id::int)) AS endpoints FROM ordered
)
SELECT nextval('deliveries_event_sequence') FROM generate_series(1, %(count)s), locked WHERE locked.endpoints >= 0
"""


def next_sequences(events: Sequence[Event], to_come: Iterable[tuple[str, str]] = ()) -> list[int]:
    """Take a sequence number for each event in one round trip; as with any database sequence, gaps can occur.

    Call it inside the transaction that inserts the events, which have been checked. `to_come` are the tenants and types
    of what the same call takes numbers for later: taken one after the other, the locks of two calls could cross.
    """
    kinds = {(event.tenant, event.type) for event in events} | set(to_come)
    rows = [{"tenant": tenant, "patterns": candidate_patterns(type)} for tenant, type in kinds]
    with connection.cursor() as cursor:
        cursor.execute(_NEXT_SEQUENCES, {"events": json.dumps(rows), "count": len(events)})
        return [row[0] for row in cursor.fetchall()]
