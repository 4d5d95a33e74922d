"""Attempts: one row for each request that may have reached an endpoint."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from deliveries.outcomes import Kind


class Attempt(models.Model):
    """What one try did. Written once, with its result; a try whose worker died is written when its lease lapses."""

    delivery = models.ForeignKey(
        "deliveries.Delivery", on_delete=models.CASCADE, related_name="attempts", db_index=False
    )
    number = models.PositiveIntegerField(help_text="Counts from 1 and goes on after a redrive.")
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16, choices=[(kind, kind) for kind in Kind])
    status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True, default="", help_text="One sentence for the operator.")
    host = models.CharField(max_length=300, blank=True, default="", help_text="Where it went; never the full URL.")
    address = models.CharField(max_length=64, blank=True, default="", help_text="The IP address that was dialled.")
    retry_after = models.CharField(max_length=128, blank=True, default="", help_text="The header as it came.")
    snippet = models.TextField(blank=True, default="", help_text="The beginning of the answer.")

    class Meta:
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [("view_answer", "Can see what endpoints answered")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["delivery", "number"], name="attempt_once_per_delivery_and_number"),
            models.CheckConstraint(name="attempt_numbers_count_from_one", condition=Q(number__gte=1)),
            models.CheckConstraint(
                name="attempt_outcome_is_known", condition=Q(outcome__in=[kind.value for kind in Kind])
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["started_at"], name="attempt_by_age")]

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.outcome}"
