"""Deliveries: one event on its way to one endpoint."""

from typing import ClassVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from deliveries.statuses import Status


class Delivery(models.Model):
    """One event for one endpoint. `deliveries.transitions` is the only writer of `status` and the columns around it.

    The constraints make a half-made move impossible: due exactly while pending, leased exactly while sending,
    finished exactly when final.
    """

    event = models.ForeignKey("deliveries.Event", on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    endpoint = models.ForeignKey(
        "endpoints.Endpoint", on_delete=models.PROTECT, related_name="deliveries", db_index=False
    )
    status = models.CharField(max_length=16, choices=[(s, s) for s in Status], default=Status.PENDING)
    attempt_count = models.PositiveIntegerField(default=0, help_text="Attempts begun, counted before sending.")
    budget_offset = models.PositiveIntegerField(default=0, help_text="Attempts that belong to earlier budgets.")
    next_attempt_at = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(help_text="No attempt starts after this.")
    lease_token = models.UUIDField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    operation = models.ForeignKey(
        "deliveries.Operation",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="deliveries",
        db_index=False,
        help_text="The redrive or replay that sent it out last.",
    )
    last_outcome = models.CharField(max_length=16, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [("replay_delivery", "Can replay deliveries")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["event", "endpoint"], name="delivery_once_per_event_and_endpoint"),
            models.CheckConstraint(
                name="delivery_status_is_known", condition=Q(status__in=["pending", "sending", "delivered", "dead"])
            ),
            models.CheckConstraint(
                name="delivery_due_if_and_only_if_pending",
                condition=Q(status="pending", next_attempt_at__isnull=False)
                | (~Q(status="pending") & Q(next_attempt_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_leased_if_and_only_if_sending",
                condition=Q(status="sending", lease_token__isnull=False, lease_expires_at__isnull=False)
                | (~Q(status="sending") & Q(lease_token__isnull=True, lease_expires_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_finished_if_and_only_if_final",
                condition=Q(status__in=["delivered", "dead"], finished_at__isnull=False)
                | Q(status__in=["pending", "sending"], finished_at__isnull=True),
            ),
            models.CheckConstraint(
                name="delivery_budget_starts_within_its_attempts",
                condition=Q(budget_offset__lte=F("attempt_count")),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["endpoint", "next_attempt_at", "id"], name="delivery_due", condition=Q(status="pending")
            ),
            models.Index(fields=["lease_expires_at"], name="delivery_leased", condition=Q(status="sending")),
            models.Index(fields=["deadline_at"], name="delivery_expiring", condition=Q(status="pending")),
            models.Index(fields=["endpoint", "-id"], name="delivery_by_endpoint"),
            # Only what people sent out again has an entry, and only while it waits: what progress and a stop look at.
            models.Index(
                fields=["operation", "id"],
                name="delivery_waiting_of_operation",
                condition=Q(status="pending", operation__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.status}"
