"""Tallies: what came through the door of a source and what became of it, counted as it happens."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models


class SourceTally(models.Model):
    """Counts of one source over a minute, or, without `starts_at`, all of what was folded: the sum of its rows is
    everything since the source was made, and never goes down.

    A minute has several rows, one a slot. Each connection counts in a slot of its own, so that those who count at the
    same time do not wait for each other. `inbox.transitions.tally` is the only writer and says what each bucket holds.
    """

    source = models.ForeignKey("inbox.Source", on_delete=models.CASCADE, related_name="tallies", db_index=False)
    starts_at = models.DateTimeField(null=True, blank=True)
    slot = models.PositiveSmallIntegerField(default=0)
    received = models.PositiveBigIntegerField()
    duplicates = models.PositiveBigIntegerField()
    conflicts = models.PositiveBigIntegerField()
    finished = ArrayField(models.PositiveBigIntegerField())
    failed = ArrayField(models.PositiveBigIntegerField())
    latency = ArrayField(models.PositiveBigIntegerField())
    latency_ms_total = models.PositiveBigIntegerField()

    class Meta:
        verbose_name_plural = "source tallies"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "starts_at", "slot"],
                name="source_tally_once_per_minute_and_slot",
                nulls_distinct=False,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.received} received"
