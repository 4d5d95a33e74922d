"""The last verdict on each endpoint: what the health sweep remembers, so that it acts on changes only."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from endpoints.health import Level, Sign


class EndpointHealth(models.Model):
    """Level, score and reason as of `judged_at`. `deliveries.transitions.verdicts` writes it.

    A look that finds too few attempts leaves the level as it is. Enabling an endpoint puts it back to unknown.
    """

    endpoint = models.OneToOneField(
        "endpoints.Endpoint", on_delete=models.CASCADE, primary_key=True, related_name="health"
    )
    level = models.CharField(
        max_length=16, choices=[(level.value, level.value) for level in Level], default=Level.UNKNOWN.value
    )
    since = models.DateTimeField(help_text="When the level was reached.")
    score = models.PositiveSmallIntegerField(null=True, blank=True, help_text="0 to 100; empty: too few attempts.")
    sign = models.CharField(max_length=16, choices=[(sign.value, sign.value) for sign in Sign], default=Sign.NONE.value)
    reason = models.TextField(blank=True, default="")
    judged_at = models.DateTimeField()
    last_success_at = models.DateTimeField(null=True, blank=True, help_text="To the minute.")
    last_error = models.TextField(blank=True, default="", help_text="As of the last change for the worse.")

    class Meta:
        verbose_name_plural = "endpoint health"
        ordering: ClassVar = ["endpoint"]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="endpoint_health_level_is_known", condition=Q(level__in=[level.value for level in Level])
            ),
            models.CheckConstraint(
                name="endpoint_health_score_is_0_to_100", condition=Q(score__isnull=True) | Q(score__lte=100)
            ),
        ]

    def __str__(self) -> str:
        return f"endpoint {self.endpoint_id}: {self.level}"
