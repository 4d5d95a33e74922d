"""Adyen: HMAC-SHA256 in base64, keyed with the bytes that the hex key encodes. Pure.

Two forms, told apart by the header: platform and management webhooks carry `HmacSignature` over the whole body;
standard (payment) webhooks carry a signature in each notification item, over eight of its fields.
https://docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from endpoints.signing import MalformedSecret
from inbox.schemes import adyen_items, bodies, headers, keys, macs
from inbox.schemes.options import unknown_options
from inbox.schemes.scheme import TOLERANCE_SECONDS, Request, Verified

SIGNATURE_HEADER = "HmacSignature"

_SIGNATURE = re.compile(r"[A-Za-z0-9+/]{43}=")
_HEX_KEY = re.compile(r"(?:[0-9a-fA-F]{2}){16,64}")


class Adyen:
    """Neither form has a timestamp that is signed and new for each attempt, so age is not judged."""

    name = "adyen"
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
        if headers.optional(request.headers, SIGNATURE_HEADER) is None:
            return adyen_items.verify(request.body, live)
        offered = headers.required(request.headers, SIGNATURE_HEADER, _SIGNATURE)
        macs.prove(live, [offered], lambda key: macs.base64_mac(key, request.body))
        document = bodies.parsed(request.body)
        return Verified(
            # `data.id` names the thing that changed, and is the same for all its changes.
            event_id=bodies.digest(request.body),
            event_type=bodies.name_at(document, "type"),
            payload=request.body,
            occurred_at=bodies.unix_seconds(bodies.at(document, "timestamp")),
        )


def _key(secret: str) -> bytes:
    text = secret.strip()
    if not _HEX_KEY.fullmatch(text):
        raise MalformedSecret("An Adyen HMAC key is written in hexadecimal, 32 to 128 digits.")
    return bytes.fromhex(text)
