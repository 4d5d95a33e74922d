"""Dead letters: received events that were given up, and what was decided about them."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from inbox.errors import FailureClass


class Resolution(models.TextChoices):
    """Open ones wait for a person; redriven ones went back to work; discarded ones were let go, with a note."""

    OPEN = "open"
    REDRIVEN = "redriven"
    DISCARDED = "discarded"


class DeadLetter(models.Model):
    """Why an event was given up. While it is open, nothing of its event is pruned."""

    event = models.ForeignKey("inbox.ReceivedEvent", on_delete=models.CASCADE, related_name="dead_letters")
    source = models.ForeignKey("inbox.Source", on_delete=models.PROTECT, related_name="dead_letters")
    event_type = models.CharField(max_length=255, blank=True, default="")
    failure_class = models.CharField(max_length=16, choices=[(each, each) for each in FailureClass])
    reason = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)
    announced_at = models.DateTimeField(null=True, blank=True, help_text="When the operators were told.")
    resolution = models.CharField(max_length=16, choices=Resolution, default=Resolution.OPEN)
    resolved_at = models.DateTimeField(null=True, blank=True)
    operation = models.ForeignKey(
        "inbox.Operation", on_delete=models.PROTECT, null=True, blank=True, related_name="dead_letters"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [
            ("redrive_deadletter", "Can redrive dead letters"),
            ("discard_deadletter", "Can discard dead letters"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["event"], name="inbox_dead_letter_open_once_per_event", condition=Q(resolution="open")
            ),
            models.CheckConstraint(
                name="inbox_dead_letter_resolution_is_known",
                condition=Q(resolution__in=["open", "redriven", "discarded"]),
            ),
            models.CheckConstraint(
                name="inbox_dead_letter_resolved_by_an_operation_or_open",
                condition=Q(resolution="open", resolved_at__isnull=True, operation__isnull=True)
                | (~Q(resolution="open") & Q(resolved_at__isnull=False, operation__isnull=False)),
            ),
            models.CheckConstraint(
                name="inbox_dead_letter_class_is_known",
                condition=Q(failure_class__in=[each.value for each in FailureClass]),
            ),
            models.CheckConstraint(name="inbox_dead_letter_says_why", condition=~Q(reason="")),
        ]
        indexes: ClassVar = [
            models.Index(fields=["resolution", "-id"], name="inbox_dead_letter_by_state"),
            models.Index(fields=["failure_class", "-id"], name="inbox_dead_letter_by_class"),
            models.Index(fields=["id"], name="inbox_dead_letter_unannounced", condition=Q(announced_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.failure_class}"
