"""The ledger of signing secrets: which were made and revoked, by whom, when, and why. Never the secrets themselves."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class SecretChange(models.Model):
    """One rotation or revocation; written in the same transaction. A secret that expires by itself leaves no row."""

    class Act(models.TextChoices):
        ROTATED = "rotated"
        REVOKED = "revoked"

    endpoint = models.ForeignKey("endpoints.Endpoint", on_delete=models.CASCADE, related_name="secret_changes")
    act = models.CharField(max_length=16, choices=Act)
    fingerprint = models.CharField(max_length=32, help_text="Of the secret that was made or revoked.")
    actor = models.CharField(max_length=150, help_text="A user name, or the command.")
    reason = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-at", "-pk"]
        indexes: ClassVar = [models.Index(fields=["endpoint", "-at"], name="secret_change_by_endpoint")]
        constraints: ClassVar = [
            models.CheckConstraint(name="secret_change_act_is_known", condition=Q(act__in=["rotated", "revoked"])),
            models.CheckConstraint(name="secret_change_says_who_and_why", condition=~Q(actor="") & ~Q(reason="")),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint} {self.act}: {self.reason}"
