"""Rollups: what one endpoint's attempts came to in a minute, later in an hour."""

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class EndpointSpan(models.Model):
    """Counts of one endpoint over one span. Written with the results themselves, in the same statement.

    `deliveries.histograms` says what each bucket of the arrays holds. Minutes are folded to hours by a sweep.
    """

    endpoint = models.ForeignKey("endpoints.Endpoint", on_delete=models.CASCADE, related_name="spans", db_index=False)
    minutes = models.PositiveSmallIntegerField(help_text="1 or 60.")
    starts_at = models.DateTimeField()
    attempts = models.PositiveIntegerField()
    delivered = models.PositiveIntegerField()
    delivered_by_number = ArrayField(models.PositiveIntegerField())
    failed_by_kind = ArrayField(models.PositiveIntegerField())
    attempt_ms = ArrayField(models.PositiveIntegerField())
    end_to_end_ms = ArrayField(models.PositiveIntegerField())
    retries = models.PositiveIntegerField(db_default=0, help_text="Attempts that were not the first of their delivery.")
    attempt_ms_total = models.PositiveBigIntegerField(db_default=0, help_text="The sum behind attempt_ms.")
    end_to_end_ms_total = models.PositiveBigIntegerField(db_default=0, help_text="The sum behind end_to_end_ms.")

    class Meta:
        ordering: ClassVar = ["-starts_at", "endpoint"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint", "minutes", "starts_at"], name="endpoint_span_once"),
            models.CheckConstraint(name="endpoint_span_is_a_minute_or_an_hour", condition=Q(minutes__in=[1, 60])),
            models.CheckConstraint(
                name="endpoint_span_delivers_at_most_its_attempts", condition=Q(delivered__lte=models.F("attempts"))
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["minutes", "starts_at"], name="endpoint_span_by_age")]

    def __str__(self) -> str:
        return f"endpoint {self.endpoint_id}, {self.starts_at:%Y-%m-%d %H:%M}, {self.minutes} min"
