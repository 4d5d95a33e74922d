"""Dead letters: deliveries given up, with everything needed to understand them and bring them back."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone


class Resolution(models.TextChoices):
    """Open ones wait for a person; redriven ones went back to work; discarded ones were let go, with a note."""

    OPEN = "open"
    REDRIVEN = "redriven"
    DISCARDED = "discarded"


class DeadLetter(models.Model):
    """The whole request that did not arrive, why, and what was decided about it.

    It stands by itself: the request and the attempts are copies, so that it can be read after both were pruned.
    """

    delivery = models.ForeignKey("deliveries.Delivery", on_delete=models.CASCADE, related_name="dead_letters")
    endpoint = models.ForeignKey("endpoints.Endpoint", on_delete=models.PROTECT, related_name="dead_letters")
    event_type = models.CharField(max_length=128)
    failure_class = models.CharField(max_length=16, help_text="The class of the last outcome; or expired, archived.")
    reason = models.TextField()
    url = models.TextField(help_text="Where the last attempt went.")
    headers = models.JSONField(help_text="What was sent, without the values of secret headers.")
    body = models.TextField(help_text="The exact body.")
    attempts = models.JSONField(help_text="Every attempt, oldest first.")
    created_at = models.DateTimeField(default=timezone.now)
    announced_at = models.DateTimeField(null=True, blank=True, help_text="When operators and the owner were told.")
    resolution = models.CharField(max_length=16, choices=Resolution, default=Resolution.OPEN)
    resolved_at = models.DateTimeField(null=True, blank=True)
    operation = models.ForeignKey(
        "deliveries.Operation", on_delete=models.PROTECT, null=True, blank=True, related_name="dead_letters"
    )

    class Meta:
        ordering: ClassVar = ["-pk"]
        permissions: ClassVar = [
            ("redrive_deadletter", "Can redrive dead letters"),
            ("discard_deadletter", "Can discard dead letters"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["delivery"], name="dead_letter_open_once_per_delivery", condition=Q(resolution="open")
            ),
            models.CheckConstraint(
                name="dead_letter_resolution_is_known", condition=Q(resolution__in=["open", "redriven", "discarded"])
            ),
            models.CheckConstraint(
                name="dead_letter_resolved_by_an_operation_or_open",
                condition=Q(resolution="open", resolved_at__isnull=True, operation__isnull=True)
                | (~Q(resolution="open") & Q(resolved_at__isnull=False, operation__isnull=False)),
            ),
            models.CheckConstraint(name="dead_letter_says_why", condition=~Q(reason="") & ~Q(failure_class="")),
        ]
        indexes: ClassVar = [
            models.Index(fields=["resolution", "-id"], name="dead_letter_by_resolution"),
            models.Index(fields=["failure_class", "-id"], name="dead_letter_by_class"),
            models.Index(fields=["failure_class"], name="dead_letter_open_by_class", condition=Q(resolution="open")),
            models.Index(fields=["id"], name="dead_letter_unannounced", condition=Q(announced_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"#{self.pk} {self.failure_class}"
