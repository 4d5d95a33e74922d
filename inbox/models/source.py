"""Sources: who may send, how their requests are proven, and how their events are dealt with."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from inbox.caps import LARGEST_CAP_BYTES, body_cap_bytes
from inbox.schemes import SCHEMES
from inbox.schemes.scheme import TOLERANCE_SECONDS


class Unhandled(models.TextChoices):
    """What becomes of an event that no handler wants. Either way it is stored and can be looked at."""

    IGNORE = "ignore"
    DEAD_LETTER = "dead_letter", "dead letter"


class Source(models.Model):
    """One provider's account with us. It posts to `/inbox/<slug>/`."""

    slug = models.SlugField(unique=True, max_length=64, help_text="Part of the address, and what handlers name.")
    scheme = models.CharField(max_length=32, help_text="How its requests are proven.")
    options = models.JSONField(default=dict, blank=True, help_text="What the scheme may be told; most take none.")
    enabled = models.BooleanField(default=True, help_text="Off: the door answers 503, so that providers try again.")
    body_cap_bytes = models.PositiveIntegerField(
        null=True, blank=True, help_text="Larger bodies are refused unread. Empty: what the provider may send at most."
    )
    tolerance_seconds = models.PositiveIntegerField(
        default=TOLERANCE_SECONDS, help_text="How far a signed timestamp may be off, both ways, on arrival."
    )
    unhandled = models.CharField(
        max_length=16, choices=Unhandled, default=Unhandled.IGNORE, help_text="What becomes of types without a handler."
    )
    concurrency = models.PositiveIntegerField(default=2, help_text="Events processed at once, across all workers.")
    ordering_path = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="Dotted path in the payload (data.object.id): events that agree there are processed one after the "
        "other, in order of arrival. Empty: in any order.",
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering: ClassVar = ["pk"]
        permissions: ClassVar = [("rotate_source_secret", "Can add and revoke secrets of sources")]
        constraints: ClassVar = [
            models.CheckConstraint(name="source_has_a_slug", condition=~Q(slug="")),
            models.CheckConstraint(name="source_concurrency_is_1_to_100", condition=Q(concurrency__range=(1, 100))),
            models.CheckConstraint(
                name="source_tolerance_is_1_s_to_1_day", condition=Q(tolerance_seconds__range=(1, 86_400))
            ),
            models.CheckConstraint(
                name="source_body_cap_is_usable",
                condition=Q(body_cap_bytes__isnull=True) | Q(body_cap_bytes__range=(1, LARGEST_CAP_BYTES)),
            ),
            models.CheckConstraint(
                name="source_unhandled_is_known", condition=Q(unhandled__in=["ignore", "dead_letter"])
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def cap_bytes(self) -> int:
        """The largest body that is read."""
        return self.body_cap_bytes or body_cap_bytes(self.scheme)

    def clean(self) -> None:
        """Raise ValidationError for options that the scheme does not understand."""
        super().clean()
        scheme = SCHEMES.get(self.scheme)
        if scheme is None:
            raise ValidationError({"scheme": f"There is no scheme {self.scheme}."})
        if not isinstance(self.options, dict):
            raise ValidationError({"options": "A JSON object."})
        if faults := scheme.options_faults(self.options):
            raise ValidationError({"options": [f"{name}: {sentence}" for name, sentence in sorted(faults.items())]})

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or raise ValidationError when the scheme or its options are unusable."""
        self.clean()
        super().save(*args, **kwargs)
