"""Operations: what people did to dead letters by hand. The audit record behind every redrive and discard."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Operation(models.Model):
    """One redrive or discard: who asked, why, when, and how many events it moved."""

    class Kind(models.TextChoices):
        REDRIVE = "redrive"
        DISCARD = "discard"

    kind = models.CharField(max_length=16, choices=Kind)
    actor = models.CharField(max_length=150, help_text="A user name, or the system account a command ran under.")
    note = models.TextField(blank=True, default="")
    selection = models.TextField(blank=True, default="", help_text="What was asked for, in words.")
    created_at = models.DateTimeField(default=timezone.now)
    moved = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.CheckConstraint(name="inbox_operation_kind_is_known", condition=Q(kind__in=["redrive", "discard"])),
            models.CheckConstraint(name="inbox_operation_names_its_actor", condition=~Q(actor="")),
            models.CheckConstraint(
                name="inbox_operation_discard_has_a_note", condition=~Q(kind="discard") | ~Q(note="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} by {self.actor} at {self.created_at:%Y-%m-%d %H:%M}"
