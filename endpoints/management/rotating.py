"""Rotating and revoking signing secrets from the command line: arguments in, the verb, words out."""

from argparse import ArgumentParser
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction
from django.utils import timezone

from endpoints.errors import TransitionRefused
from endpoints.management.actor import command_actor
from endpoints.models import SigningSecret
from endpoints.rotation import DEFAULT_OVERLAP, revoke, rotate


@dataclass(frozen=True, slots=True)
class Said:
    """What a command prints: figures for `--json`, text for standard output, and a remark for standard error.

    A new secret is alone on standard output: it can be piped to where it is needed without passing a screen.
    """

    figures: dict[str, Any]
    text: str
    remark: str = ""


def add_rotate_arguments(parser: ArgumentParser) -> None:
    default = DEFAULT_OVERLAP / timedelta(hours=1)
    parser.add_argument(
        "--overlap-hours",
        type=float,
        default=default,
        help=f"How long old secrets still sign beside it, 0 to 720; {default:g} by default.",
    )
    parser.add_argument("--dry-run", action="store_true", help="Only say whether it could be done.")
    parser.add_argument("--json", action="store_true", help="Print a JSON object.")


def add_revoke_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("fingerprint", help="Names the secret; `endpoint show` lists those that sign.")
    parser.add_argument("--reason", required=True, help="Why, for the ledger.")
    parser.add_argument("--dry-run", action="store_true", help="Only say whether it could be done.")
    parser.add_argument("--json", action="store_true", help="Print a JSON object.")


def rotate_by_command(endpoint_id: int, *, overlap_hours: float, dry_run: bool) -> Said:
    """Rotate, or raise CommandError."""
    try:
        with transaction.atomic():
            made = rotate(endpoint_id, actor=command_actor(), overlap=timedelta(hours=overlap_hours))
            transaction.set_rollback(dry_run)
    except (TransitionRefused, ValueError, OverflowError) as error:
        raise CommandError(str(error)) from error
    if dry_run:
        return Said({"dry_run": True}, "It would be rotated.")
    remark = f"New secret {made.fingerprint}; the old ones sign on for {overlap_hours:g} h."
    return Said({"fingerprint": made.fingerprint, "secret": made.secret}, made.secret, remark)


def revoke_by_command(endpoint_id: int, fingerprint: str, *, reason: str, dry_run: bool) -> Said:
    """Revoke, or raise CommandError."""
    try:
        with transaction.atomic():
            revoke(_named(endpoint_id, fingerprint), actor=command_actor(), reason=reason)
            transaction.set_rollback(dry_run)
    except (TransitionRefused, ValueError) as error:
        raise CommandError(str(error)) from error
    figures = {"id": endpoint_id, "revoked": fingerprint, "dry_run": dry_run}
    return Said(figures, f"Secret {fingerprint} {'would sign' if dry_run else 'signs'} no more.")


def _named(endpoint_id: int, fingerprint: str) -> SigningSecret:
    # The ciphertext stays in the database: a secret is revoked also when the key it was stored under is lost.
    secrets = SigningSecret.objects.filter(endpoint_id=endpoint_id).defer("secret")
    found: SigningSecret | None = secrets.filter(fingerprint=fingerprint).first()
    if found:
        return found
    live = ", ".join(secrets.live(timezone.now()).values_list("fingerprint", flat=True))
    raise CommandError(f"Endpoint {endpoint_id} has no secret {fingerprint}; those that sign are: {live or 'none'}.")
