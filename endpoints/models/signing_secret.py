"""Signing secrets: encrypted at rest, several live at once while one is being rotated."""

from datetime import datetime
from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from endpoints import signing
from vault.encryption import EncryptedTextField


class SigningSecretQuerySet(models.QuerySet):  # type: ignore[type-arg]
    def live(self, now: datetime) -> "SigningSecretQuerySet":
        """Secrets that sign at `now`, newest first."""
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=now)).order_by("-created_at", "-pk")


class SigningSecret(models.Model):
    """One `whsec_…` secret of an endpoint. It signs until `expires_at`; without one, for good."""

    endpoint = models.ForeignKey("endpoints.Endpoint", on_delete=models.CASCADE, related_name="signing_secrets")
    secret = EncryptedTextField()
    fingerprint = models.CharField(max_length=32, editable=False, help_text="Names the secret without showing it.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)

    objects = SigningSecretQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-created_at", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["endpoint", "fingerprint"], name="signing_secret_once_per_endpoint"),
            models.CheckConstraint(
                name="signing_secret_expires_after_creation",
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=models.F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return self.fingerprint

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save, or raise ValidationError when the secret is malformed."""
        self.secret = (self.secret or "").strip()
        try:
            signing.decode_secret(self.secret)
        except signing.MalformedSecret as error:
            raise ValidationError({"secret": str(error)}) from error
        self.fingerprint = signing.fingerprint(self.secret)
        super().save(*args, **kwargs)
