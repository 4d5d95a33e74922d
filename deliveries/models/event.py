"""Events: what happened, with the exact bytes every endpoint will get."""

import json
from collections.abc import Iterable
from typing import Any, ClassVar

from django.db import connections, models
from django.db.models import Q
from django.utils import timezone

from deliveries import payloads
from deliveries.errors import InvalidEventType, InvalidPayload
from endpoints.matching import event_type_fault


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

    def render(self, sequence: int) -> None:
        """Fill in whatever is missing (id, time, body, fingerprint) for a new event.

        Raises InvalidEventType, InvalidPayload or PayloadTooLarge; nothing has been written then.
        """
        if fault := event_type_fault(self.type):
            raise InvalidEventType(fault)
        if not isinstance(self.tenant, str) or len(self.tenant) > 128:
            raise InvalidPayload("The tenant is text of at most 128 characters.", field="tenant", rule="malformed")
        now = timezone.now()
        self.id = self.id or payloads.new_event_id(now)
        if fault := payloads.event_id_fault(self.id):
            raise InvalidPayload(fault, field="id", rule="malformed")
        self.occurred_at = self.occurred_at or now
        if timezone.is_naive(self.occurred_at):
            raise InvalidPayload("The time it occurred carries a time zone.", field="occurred_at", rule="naive")
        self.sequence = sequence
        self.body = payloads.render(
            id=self.id, type=self.type, created_at=self.occurred_at, sequence=sequence, data=self.data
        )
        self.fingerprint = payloads.fingerprint(type=self.type, tenant=self.tenant, data=self.data)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Render and insert. An event is never updated."""
        if self._state.adding:
            self.render(next(iter(self.next_sequences(1, kwargs.get("using") or "default"))))
            kwargs["force_insert"] = True
        elif not kwargs.get("update_fields"):
            raise TypeError("An event is immutable: its body may already be on its way.")
        super().save(*args, **kwargs)

    @staticmethod
    def next_sequences(count: int, using: str = "default") -> Iterable[int]:
        """Take `count` sequence numbers in one round trip; like any database sequence, gaps can occur."""
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT nextval('deliveries_event_sequence') FROM generate_series(1, %s)", [count])
            return [row[0] for row in cursor.fetchall()]
