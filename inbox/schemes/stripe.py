"""Stripe: `Stripe-Signature: t=…,v1=…`, HMAC-SHA256 in hex over `{t}.{body}`, keyed with the text of the secret. Pure.

https://docs.stripe.com/webhooks#verify-manually
"""

from collections.abc import Mapping, Sequence
from typing import Any

from endpoints.signing import MalformedSecret
from inbox.schemes import bodies, headers, keys, macs
from inbox.schemes.freshness import UNIX_SECONDS, check_age
from inbox.schemes.options import unknown_options
from inbox.schemes.scheme import TOLERANCE_SECONDS, Request, Verified

SIGNATURE_HEADER = "Stripe-Signature"
KEY_PREFIX = "whsec_"


class Stripe:
    """Several `v1` signatures come while a secret is being rolled; `v0` belongs to test events and proves nothing."""

    name = "stripe"
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
        live = keys.live_keys(secrets, _key)
        timestamp, offered = _parts(headers.required(request.headers, SIGNATURE_HEADER))
        check_age(int(timestamp), request.received_at, tolerance_seconds)
        signed = timestamp.encode() + b"." + request.body
        macs.prove(live, offered, lambda key: macs.hex_mac(key, signed))
        return _verified(request.body)


def _key(secret: str) -> bytes:
    if not secret.strip().startswith(KEY_PREFIX):
        raise MalformedSecret(
            f"The signing secret of a Stripe webhook endpoint starts with {KEY_PREFIX}; API keys do not."
        )
    # Not decoded: Stripe keys the HMAC with the whole text, prefix included.
    return keys.text_key(secret)


def _parts(header: str) -> tuple[str, list[str]]:
    """The timestamp and the `v1` signatures; other versions are passed over, so that Stripe can add one."""
    pairs = [item.strip().partition("=") for item in header.split(",")]
    timestamps = {value for name, _, value in pairs if name == "t"}
    signatures = [value for name, _, value in pairs if name == "v1"]
    if len(timestamps) != 1 or not signatures:
        raise headers.malformed(SIGNATURE_HEADER)
    timestamp = timestamps.pop()
    if not UNIX_SECONDS.fullmatch(timestamp):
        raise headers.malformed(SIGNATURE_HEADER)
    return timestamp, signatures


def _verified(body: bytes) -> Verified:
    event = bodies.parsed(body)
    return Verified(
        event_id=bodies.name_at(event, "id") or bodies.digest(body),
        event_type=bodies.name_at(event, "type"),
        payload=body,
        occurred_at=bodies.unix_seconds(bodies.at(event, "created")),
    )
