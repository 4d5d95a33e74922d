"""Rotation: give a source the provider's new secret while the old ones still prove requests, so that none is lost."""

from datetime import datetime, timedelta
from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from inbox import lines
from inbox.errors import SecretRefused
from inbox.models import Source, SourceSecret

DEFAULT_OVERLAP: Final = timedelta(days=4)
"""What was signed with the old secret comes again for as long as the provider retries: three days, commonly."""

MAX_OVERLAP: Final = timedelta(days=30)


def rotate(
    source: Source, secret: str, *, actor: str, overlap: timedelta = DEFAULT_OVERLAP, now: datetime | None = None
) -> SourceSecret:
    """Take in a secret. Until `overlap` has passed every live secret proves requests; then the old ones expire.

    Secrets that expire sooner keep their time. Raises SecretRefused for one that the scheme cannot use or that the
    source has already, and ValueError for an overlap outside 0 to 30 days.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise ValueError(f"The overlap is between 0 and {MAX_OVERLAP.days} days.")
    now = now or timezone.now()
    made = SourceSecret(source=source, secret=secret, created_at=now)
    with transaction.atomic():
        # Two rotations at once run one after the other, so that each sees the other's secret.
        Source.objects.select_for_update().get(pk=source.pk)
        try:
            made.fill_in()
        except ValidationError as error:
            raise SecretRefused(" ".join(error.messages)) from error
        if SourceSecret.objects.filter(source=source, fingerprint=made.fingerprint).exists():
            raise SecretRefused(f"The source {source.slug} has this secret already: key {made.fingerprint}.")
        end = now + overlap
        old = SourceSecret.objects.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=end), source=source)
        expired = old.update(expires_at=end)
        made.save()
        added = {"source": source.slug, "key_fingerprint": made.fingerprint, "actor": actor}
        lines.SECRET_ADDED.say_on_commit([added | {"older_secrets": expired, "older_expire_at": end}])
    return made


def revoke(secret: SourceSecret, *, actor: str, now: datetime | None = None) -> None:
    """Stop believing a secret at once, as when it leaked. The source refuses everything when it was the only one."""
    now = now or timezone.now()
    if not SourceSecret.objects.live(now).filter(pk=secret.pk).update(expires_at=now):
        raise SecretRefused("This secret has expired already.")
    secret.expires_at = now
    revoked = {"source": secret.source.slug, "key_fingerprint": secret.fingerprint, "actor": actor}
    lines.SECRET_REVOKED.say_on_commit([revoked])
