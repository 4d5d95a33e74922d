"""Refusals: how often the door turned requests away, by source, reason and day."""

from typing import ClassVar

from django.db import models
from django.db.models import Q


class RefusalCount(models.Model):
    """One day's refusals of one kind.

    Their number is bounded whatever comes in: reasons are a fixed set, keys are those of the source's live secrets, and
    all that names no source of ours is counted together.
    """

    source = models.ForeignKey("inbox.Source", on_delete=models.CASCADE, null=True, related_name="refusals")
    day = models.DateField()
    reason = models.CharField(max_length=32)
    keys = models.CharField(max_length=200, blank=True, default="", help_text="Fingerprints of the keys tried.")
    count = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-day", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "day", "reason", "keys"],
                name="refusal_counted_once_per_source_day_reason_and_keys",
                nulls_distinct=False,
            ),
            models.CheckConstraint(name="refusal_says_why", condition=~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.reason} {self.day}: {self.count}"
