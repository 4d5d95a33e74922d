"""Operations: what people did to deliveries by hand. The audit record behind every redrive, discard and replay."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Operation(models.Model):
    """One redrive, discard or replay: who asked, why, when, and how many deliveries it moved."""

    class Kind(models.TextChoices):
        REDRIVE = "redrive"
        DISCARD = "discard"
        REPLAY = "replay"

    kind = models.CharField(max_length=16, choices=Kind)
    actor = models.CharField(max_length=150, help_text="A user name, or the system account a command ran under.")
    note = models.TextField(blank=True, default="")
    selection = models.TextField(blank=True, default="", help_text="What was asked for, in words.")
    created_at = models.DateTimeField(default=timezone.now)
    rate_per_second = models.FloatField(
        null=True, blank=True, help_text="Deliveries become due at this rate; empty: all at once."
    )
    stopped_at = models.DateTimeField(null=True, blank=True, help_text="When somebody called back what was not sent.")
    stopped_by = models.CharField(max_length=150, blank=True, default="")
    withdrawn = models.PositiveIntegerField(default=0, help_text="Deliveries called back by the stop.")
    moved = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [("stop_operation", "Can stop redrives and replays")]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="operation_rate_is_positive",
                condition=Q(rate_per_second__isnull=True) | Q(rate_per_second__gt=0, rate_per_second__lte=10_000),
            ),
            models.CheckConstraint(
                name="operation_stopped_by_somebody_or_not_at_all",
                condition=Q(stopped_at__isnull=True, stopped_by="") | (Q(stopped_at__isnull=False) & ~Q(stopped_by="")),
            ),
            models.CheckConstraint(
                name="operation_kind_is_known", condition=Q(kind__in=["redrive", "discard", "replay"])
            ),
            models.CheckConstraint(name="operation_names_its_actor", condition=~Q(actor="")),
            models.CheckConstraint(name="operation_discard_has_a_note", condition=~Q(kind="discard") | ~Q(note="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.actor} at {self.created_at:%Y-%m-%d %H:%M}"
