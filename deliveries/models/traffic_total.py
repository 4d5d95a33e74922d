"""Totals: what all attempts came to since the totals began, whatever became of the rollups."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class TrafficTotal(models.Model):
    """The sums of all minutes that began before `closed_until`: what counters that never go down begin with.

    One row, written by `deliveries.transitions.close`. A minute is folded or deleted only after it was added here.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    closed_until = models.DateTimeField()
    attempts = models.PositiveBigIntegerField()
    delivered = models.PositiveBigIntegerField()
    retries = models.PositiveBigIntegerField()
    delivered_by_number = ArrayField(models.PositiveBigIntegerField())
    failed_by_kind = ArrayField(models.PositiveBigIntegerField())
    attempt_ms = ArrayField(models.PositiveBigIntegerField())
    end_to_end_ms = ArrayField(models.PositiveBigIntegerField())
    attempt_ms_total = models.PositiveBigIntegerField()
    end_to_end_ms_total = models.PositiveBigIntegerField()

    class Meta:
        constraints: ClassVar = [models.CheckConstraint(name="traffic_total_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"{self.attempts} attempts until {self.closed_until:%Y-%m-%d %H:%M}"
