"""Retry policies as rows: named, editable, refused when they make no sense."""

from dataclasses import asdict
from typing import Any, ClassVar

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from endpoints.policies import DEFAULT_POLICY, DEFAULT_POLICY_NAME, Policy, policy_faults


class RetryPolicy(models.Model):
    """How often and how long a failing delivery is tried again; `endpoints.policies` explains each field."""

    class Kind(models.TextChoices):
        EXPONENTIAL = "exponential", "exponential with full jitter"
        SCHEDULE = "schedule", "schedule with proportional jitter"

    name = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=16, choices=Kind, default=Kind.EXPONENTIAL)
    base_seconds = models.PositiveIntegerField(default=30, help_text="Exponential: the first ceiling; it doubles.")
    cap_seconds = models.PositiveIntegerField(default=43_200, help_text="Exponential: no wait is longer than this.")
    schedule_seconds = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        blank=True,
        help_text="Schedule: the waits between attempts, in seconds, separated by commas.",
    )
    jitter = models.FloatField(default=0.0, help_text="Schedule: the share of a wait that chance may add, 0 to 1.")
    max_attempts = models.PositiveIntegerField(default=16)
    deadline_seconds = models.PositiveIntegerField(default=259_200, help_text="No attempt starts later than this.")
    timeout_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="Total time of one request; empty leaves it to the endpoint."
    )

    class Meta:
        verbose_name_plural = "retry policies"
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                name="retry_policy_kind_is_known", condition=Q(kind__in=["exponential", "schedule"])
            ),
            models.CheckConstraint(
                name="retry_policy_allows_1_to_100_attempts", condition=Q(max_attempts__range=(1, 100))
            ),
            models.CheckConstraint(
                name="retry_policy_cap_is_not_below_base", condition=Q(cap_seconds__gte=models.F("base_seconds"))
            ),
            models.CheckConstraint(name="retry_policy_jitter_is_a_share", condition=Q(jitter__range=(0.0, 1.0))),
            models.CheckConstraint(name="retry_policy_deadline_is_positive", condition=Q(deadline_seconds__gte=1)),
            models.CheckConstraint(
                name="retry_policy_timeout_is_1_to_30_s",
                condition=Q(timeout_seconds__isnull=True) | Q(timeout_seconds__range=(1, 30)),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def as_policy(self) -> Policy:
        """The row as the pure value that `deliveries.retries` decides with."""
        return Policy(
            name=self.name,
            kind=self.kind,
            base_seconds=self.base_seconds,
            cap_seconds=self.cap_seconds,
            schedule_seconds=tuple(self.schedule_seconds),
            jitter=self.jitter,
            max_attempts=self.max_attempts,
            deadline_seconds=self.deadline_seconds,
            timeout_seconds=self.timeout_seconds,
        )

    def clean(self) -> None:
        faults = policy_faults(self.as_policy())
        if self.pk and self.name != DEFAULT_POLICY_NAME and _is_default(self.pk):
            faults["name"] = f"The policy {DEFAULT_POLICY_NAME} keeps its name: endpoints that name none follow it."
        if faults:
            raise ValidationError(dict(faults))

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or raise ValidationError naming the field and the rule."""
        self.full_clean()
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete, or raise ValidationError for the policy that endpoints without one of their own follow."""
        if self.name == DEFAULT_POLICY_NAME:
            raise ValidationError(f"The policy {DEFAULT_POLICY_NAME} stays: endpoints that name none follow it.")
        return super().delete(*args, **kwargs)

    @classmethod
    def default(cls) -> "RetryPolicy":
        """The policy of endpoints that name none: the row named so, or what was shipped when somebody removed it."""
        row = cls.objects.filter(name=DEFAULT_POLICY_NAME).first()
        return row or cls(**asdict(DEFAULT_POLICY) | {"schedule_seconds": []})


def _is_default(pk: int) -> bool:
    return RetryPolicy.objects.filter(pk=pk, name=DEFAULT_POLICY_NAME).exists()
