"""Standard Webhooks, both kinds of key: `whsec_` shared secrets (`v1`) and `whpk_` public keys (`v1a`). Pure.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
Holdfast's own sender signs this way.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from endpoints import signing
from inbox.schemes import bodies, ed25519, headers, keys
from inbox.schemes.options import unknown_options
from inbox.schemes.scheme import TOLERANCE_SECONDS, Reason, Refused, Request, Verified

_HEADERS = (signing.ID_HEADER, signing.TIMESTAMP_HEADER, signing.SIGNATURE_HEADER)
_REASONS = {
    "headers": Reason.MALFORMED_HEADER,
    "timestamp": Reason.STALE,
    "secrets": Reason.NO_SECRET,
    "signature": Reason.BAD_SIGNATURE,
}


class StandardWebhooks:
    """A source may hold secrets of both kinds at once, as it does while its sender changes from one to the other."""

    name = "standard-webhooks"
    needs_secret = True

    def options_faults(self, options: Mapping[str, Any]) -> dict[str, str]:
        return unknown_options(options, ())

    def secret_fault(self, secret: str) -> str | None:
        return keys.fault_of(secret, _key)

    def verify(
        self,
        request: Request,
        secrets: Sequence[str],
        options: Mapping[str, Any],
        *,
        tolerance_seconds: int = TOLERANCE_SECONDS,
    ) -> Verified:
        keys.live_keys(secrets, _key)
        for name in _HEADERS:
            headers.required(request.headers, name)
        message_id = _proven_id(request, secrets, tolerance_seconds)
        event = bodies.parsed(request.body)
        happened = bodies.at(event, "timestamp") or bodies.at(event, "created_at")
        return Verified(message_id, bodies.name_at(event, "type"), request.body, bodies.unix_seconds(happened))


def _key(secret: str) -> bytes:
    return ed25519.public_key(secret) if _is_public(secret) else signing.decode_secret(secret)


def _is_public(secret: str) -> bool:
    return secret.strip().startswith(ed25519.KEY_PREFIX)


def _proven_id(request: Request, secrets: Sequence[str], tolerance_seconds: int) -> str:
    shared = [secret for secret in secrets if not _is_public(secret)]
    public = [ed25519.public_key(secret) for secret in secrets if _is_public(secret)]
    tried: tuple[str, ...] = ()
    if shared:
        try:
            return _shared_proof(request, shared, tolerance_seconds)
        except Refused as refusal:
            if refusal.reason is not Reason.BAD_SIGNATURE or not public:
                raise
            tried = refusal.fingerprints
    try:
        return ed25519.verify(public, request, tolerance_seconds=tolerance_seconds)
    except Refused as refusal:
        raise Refused(refusal.reason, refusal.sentence, tried + refusal.fingerprints) from None


def _shared_proof(request: Request, secrets: Sequence[str], tolerance_seconds: int) -> str:
    try:
        return signing.verify(
            secrets, request.headers, request.body, now=request.received_at, tolerance_seconds=tolerance_seconds
        )
    except signing.VerificationFailed as failure:
        raise Refused(_REASONS[failure.rule], failure.reason, failure.fingerprints) from None
