"""Totals of refusals: what the counts of days that were pruned came to."""

from typing import ClassVar

from django.db import models


class RefusalTotal(models.Model):
    """The pruned days of one reason. With the days that are left it is all there ever was, and never goes down."""

    source = models.ForeignKey("inbox.Source", on_delete=models.CASCADE, null=True, related_name="refusal_totals")
    reason = models.CharField(max_length=32)
    count = models.PositiveBigIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "reason"],
                name="refusal_total_once_per_source_and_reason",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.reason}: {self.count}"
