"""The ledger of endpoint states: who or what moved an endpoint, when, and why."""

from typing import ClassVar

from django.db import models
from django.utils import timezone


class StateChange(models.Model):
    """One move of an endpoint's state; written in the same transaction as the move itself."""

    endpoint = models.ForeignKey("endpoints.Endpoint", on_delete=models.CASCADE, related_name="state_changes")
    from_state = models.CharField(max_length=16)
    to_state = models.CharField(max_length=16)
    actor = models.CharField(max_length=150, help_text="A user name, or the rule that decided.")
    reason = models.TextField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["-at", "-pk"]
        indexes: ClassVar = [models.Index(fields=["endpoint", "-at"], name="state_change_by_endpoint")]

    def __str__(self) -> str:
        return f"{self.from_state} → {self.to_state}: {self.reason}"
