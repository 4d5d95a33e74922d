"""Received events: what came through the door, with its exact bytes, and what became of it."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

from inbox.statuses import Status

FINAL = ["processed", "stale", "ignored", "dead"]


class ReceivedEvent(models.Model):
    """One event of a source. `inbox.transitions` is the only writer of `status` and the columns around it.

    Only what was proven becomes a row, so a row is its own proof: nothing verifies it or judges its age again. The row
    is also the ledger by which a repeat is told. Its body goes when it has been kept long enough, the row much later.
    """

    source = models.ForeignKey("inbox.Source", on_delete=models.PROTECT, related_name="events", db_index=False)
    event_id = models.CharField(max_length=255, help_text="The provider's id: what tells a repeat.")
    type = models.CharField(max_length=255, blank=True, default="")
    body = models.BinaryField(null=True, help_text="Exactly the bytes that arrived; empty once pruned.")
    payload = models.BinaryField(null=True, help_text="The JSON, where it is only a part of the body.")
    content_type = models.CharField(max_length=255, blank=True, default="")
    headers = models.JSONField(default=dict, help_text="As they came, without those that carry secrets.")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the body.")
    received_at = models.DateTimeField()
    occurred_at = models.DateTimeField(null=True, blank=True, help_text="When it happened, by the provider's clock.")
    ordering_key = models.CharField(max_length=255, blank=True, default="")
    status = models.CharField(max_length=16, choices=[(s, s) for s in Status], default=Status.RECEIVED)
    attempt_count = models.PositiveIntegerField(default=0, help_text="Attempts begun, counted before the handler runs.")
    budget_offset = models.PositiveIntegerField(default=0, help_text="Attempts that belong to earlier budgets.")
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    duplicates = models.PositiveIntegerField(default=0, help_text="Times it arrived again.")
    conflicts = models.PositiveIntegerField(default=0, help_text="Times it arrived again with another body.")
    last_duplicate_at = models.DateTimeField(null=True, blank=True)
    handler = models.CharField(max_length=255, blank=True, default="", help_text="Which function got it last.")
    reason = models.TextField(blank=True, default="", help_text="One sentence about how the last attempt ended.")
    failures = models.JSONField(default=list, help_text="Failed attempts, oldest first; the last twenty.")

    class Meta:
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [("view_body", "Can see the headers and bodies of received events")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "event_id"], name="received_event_once_per_source_and_id"),
            models.CheckConstraint(name="received_event_has_an_id", condition=~Q(event_id="")),
            models.CheckConstraint(
                name="received_event_status_is_known", condition=Q(status__in=["received", "processing", *FINAL])
            ),
            models.CheckConstraint(
                name="received_event_due_if_and_only_if_received",
                condition=Q(status="received", next_attempt_at__isnull=False)
                | (~Q(status="received") & Q(next_attempt_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="received_event_leased_if_and_only_if_processing",
                condition=Q(status="processing", lease_token__isnull=False, lease_expires_at__isnull=False)
                | (~Q(status="processing") & Q(lease_token__isnull=True, lease_expires_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="received_event_finished_if_and_only_if_final",
                condition=Q(status__in=FINAL, finished_at__isnull=False)
                | (~Q(status__in=FINAL) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="received_event_keeps_its_body_until_final",
                condition=Q(status__in=FINAL) | Q(body__isnull=False),
            ),
            models.CheckConstraint(
                name="received_event_budget_starts_within_its_attempts",
                condition=Q(budget_offset__lte=F("attempt_count")),
            ),
            models.CheckConstraint(
                name="received_event_conflicts_are_duplicates", condition=Q(conflicts__lte=F("duplicates"))
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["source", "next_attempt_at", "id"], name="received_event_due", condition=Q(status="received")
            ),
            models.Index(
                fields=["source", "lease_expires_at"], name="received_event_leased", condition=Q(status="processing")
            ),
            models.Index(
                fields=["source", "ordering_key", "id"],
                name="received_event_in_order",
                condition=Q(status__in=["received", "processing"]) & ~Q(ordering_key=""),
            ),
            models.Index(
                fields=["source", "received_at"],
                name="received_event_unfinished",
                condition=Q(status__in=["received", "processing"]),
            ),
            models.Index(fields=["source", "-id"], name="received_event_by_source"),
            models.Index(fields=["event_id"], name="received_event_by_id"),
            models.Index(fields=["received_at"], name="received_event_by_age"),
            models.Index(fields=["received_at"], name="received_event_with_body", condition=Q(body__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.type or '(no type)'} {self.event_id}"
