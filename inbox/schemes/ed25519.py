"""The asymmetric half of Standard Webhooks: `v1a` signatures, Ed25519, checked with a `whpk_` public key. Pure.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme
"""

import base64
import re
from collections.abc import Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from endpoints.signing import ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, MalformedSecret
from inbox.schemes import headers, macs
from inbox.schemes.freshness import UNIX_SECONDS, check_age
from inbox.schemes.scheme import Request

KEY_PREFIX = "whpk_"
VERSION = "v1a,"
MAX_SIGNATURES = 8
"""One for each live key of a sender. Checking one costs about 100 µs, so a header full of them would be an attack."""

_KEY_BYTES = 32
_MESSAGE_ID = re.compile(r"[!-\-/-~]{1,256}")


def public_key(secret: str) -> bytes:
    """The 32 bytes that a `whpk_…` text encodes. Raises MalformedSecret."""
    encoded = secret.strip().removeprefix(KEY_PREFIX)
    key = _strict_base64(encoded)
    if key is None or len(key) != _KEY_BYTES:
        raise MalformedSecret(f"A public key is {KEY_PREFIX} and the standard base64 of {_KEY_BYTES} bytes.")
    return key


def verify(keys: Sequence[bytes], request: Request, *, tolerance_seconds: int) -> str:
    """The message id of a request that any of the keys proves. Raises Refused."""
    message_id = headers.required(request.headers, ID_HEADER, _MESSAGE_ID)
    timestamp = headers.required(request.headers, TIMESTAMP_HEADER, UNIX_SECONDS)
    offered = _offered(headers.required(request.headers, SIGNATURE_HEADER))
    check_age(int(timestamp), request.received_at, tolerance_seconds)
    signed = b".".join((message_id.encode("ascii"), timestamp.encode("ascii"), request.body))
    if not any(_proves(key, signature, signed) for key in keys for signature in offered):
        raise macs.mismatch(keys)
    return message_id


def _offered(header: str) -> list[bytes]:
    entries = [entry.removeprefix(VERSION) for entry in header.split(" ") if entry.startswith(VERSION)]
    if len(entries) > MAX_SIGNATURES:
        raise headers.malformed(SIGNATURE_HEADER)
    return [signature for entry in entries if (signature := _strict_base64(entry)) is not None]


def _proves(key: bytes, signature: bytes, signed: bytes) -> bool:
    # Everything here is public, so that nothing has to be constant in time.
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _strict_base64(encoded: str) -> bytes | None:
    try:
        decoded = base64.b64decode(encoded, validate=True)
    except ValueError:
        return None
    return decoded if base64.b64encode(decoded) == encoded.encode() else None
