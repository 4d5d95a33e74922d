"""Rotation: give an endpoint a new signing secret while the old ones still sign, so that no receiver is cut off."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from endpoints import lines, signing
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint, SecretChange, SigningSecret
from journal import scrubbed

DEFAULT_OVERLAP: Final = timedelta(hours=24)
"""How long old secrets go on signing: a working day for the receiver's owner to deploy the new one."""

MAX_OVERLAP: Final = timedelta(days=30)


def rotate(
    endpoint: Endpoint | int, *, actor: str, overlap: timedelta = DEFAULT_OVERLAP, now: datetime | None = None
) -> SigningSecret:
    """Make a new signing secret; its `secret` is the text to hand to the receiver, once.

    Until `overlap` has passed every request carries a signature by each live secret, newest first; then the old ones
    expire by themselves. Secrets that expire sooner keep their time. Raises ValueError for an overlap outside 0 to 30
    days and TransitionRefused for an archived or missing endpoint.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise ValueError(f"The overlap is between 0 and {MAX_OVERLAP.days} days.")
    now = now or timezone.now()
    with transaction.atomic():
        id = _lock(endpoint)
        end = now + overlap
        old = SigningSecret.objects.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=end), endpoint_id=id)
        expired = old.update(expires_at=end)
        made = SigningSecret.objects.create(endpoint_id=id, secret=signing.new_secret(), created_at=now)
        _note(made, SecretChange.Act.ROTATED, actor, f"{expired} older ones expire {end:%Y-%m-%d %H:%M} UTC.", now)
        made_by = {"endpoint_id": id, "key_fingerprint": made.fingerprint, "actor": actor}
        lines.SECRET_ROTATED.say_on_commit([made_by | {"older_secrets": expired, "older_expire_at": end}])
    return made


def revoke(secret: SigningSecret, *, actor: str, reason: str, now: datetime | None = None) -> None:
    """Stop signing with a secret at once, as when it leaked. `reason` is a sentence for the ledger.

    Raises TransitionRefused when no other secret signs for good: what is left would end by itself, and then nothing
    could be sent any more.
    """
    if not actor or not reason.strip():
        raise ValueError("A secret is revoked by somebody, for a reason.")
    now = now or timezone.now()
    with transaction.atomic():
        _lock(secret.endpoint_id)
        live = SigningSecret.objects.live(now).filter(endpoint_id=secret.endpoint_id)
        if not live.filter(pk=secret.pk).exists():
            raise TransitionRefused("This signing secret has expired already.")
        if not live.exclude(pk=secret.pk).filter(expires_at=None).exists():
            raise TransitionRefused(
                "This is the endpoint's last signing secret that stays: rotate first, then revoke it."
            )
        live.filter(pk=secret.pk).update(expires_at=now)
        _note(secret, SecretChange.Act.REVOKED, actor, reason, now)
    secret.expires_at = now
    revoked = {"endpoint_id": secret.endpoint_id, "key_fingerprint": secret.fingerprint, "actor": actor}
    lines.SECRET_REVOKED.say_on_commit([revoked | {"reason": scrubbed(reason)}])


def _note(secret: SigningSecret, act: SecretChange.Act, actor: str, reason: str, now: datetime) -> None:
    SecretChange.objects.create(
        endpoint_id=secret.endpoint_id,
        act=act,
        fingerprint=secret.fingerprint,
        actor=actor,
        reason=reason.strip(),
        at=now,
    )


def _lock(endpoint: Endpoint | int) -> int:
    """Two rotations at once run one after the other, so that each sees the other's secret."""
    id = endpoint if isinstance(endpoint, int) else endpoint.pk
    rows = Endpoint.objects.exclude(state="archived").filter(pk=id)
    if not rows.select_for_update(of=("self",)).values_list("pk", flat=True):
        raise TransitionRefused(f"Endpoint {id} is archived or does not exist.")
    return id
