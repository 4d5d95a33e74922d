"""Secrets of sources: encrypted at rest, several live at once while one is being rotated."""

from datetime import datetime
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from inbox.fingerprints import key_fingerprint
from inbox.schemes import SCHEMES
from vault.encryption import EncryptedTextField


class SourceSecretQuerySet(models.QuerySet):  # type: ignore[type-arg]
    def live(self, now: datetime) -> "SourceSecretQuerySet":
        """Secrets that prove requests at `now`, newest first."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now)).order_by("-created_at", "-pk")


class SourceSecret(models.Model):
    """One secret of a source. It proves requests until `expires_at`; without one, for good."""

    source = models.ForeignKey("inbox.Source", on_delete=models.CASCADE, related_name="secrets")
    secret = EncryptedTextField()
    fingerprint = models.CharField(max_length=32, editable=False, help_text="Names the key without showing it.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)

    objects = SourceSecretQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "fingerprint"], name="source_secret_once_per_source"),
            models.CheckConstraint(
                name="source_secret_expires_after_creation",
                condition=Q(expires_at__isnull=True) | Q(expires_at__gte=models.F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return self.fingerprint

    def fill_in(self) -> None:
        """Strip the secret and name its key. Raises ValidationError when it cannot be one of the source's scheme."""
        self.secret = (self.secret or "").strip()
        scheme = SCHEMES.get(self.source.scheme)
        if scheme is None:
            raise ValidationError({"secret": f"There is no scheme {self.source.scheme}."})
        if fault := scheme.secret_fault(self.secret):
            raise ValidationError({"secret": fault})
        self.fingerprint = key_fingerprint(scheme.name, self.secret)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or raise ValidationError as `fill_in` does."""
        self.fill_in()
        super().save(*args, **kwargs)
