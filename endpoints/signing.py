"""Signatures of webhooks, made and checked: the only place that knows how. Pure.

The scheme is Standard Webhooks, symmetric (`v1`): HMAC-SHA256 over `{id}.{timestamp}.{body}`, keyed with the bytes that
the secret encodes, never with its text. https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import binascii
import hashlib
import hmac
import logging
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from secrets import token_bytes

ID_HEADER = "webhook-id"
TIMESTAMP_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
TOLERANCE_SECONDS = 300

KEY_PREFIX = "whsec_"
NEW_KEY_BYTES = 32
# "At least 24 bytes (192 bits, 512 maximum)": the signature scheme table of the specification.
MIN_KEY_BYTES = 24
MAX_KEY_BYTES = 64

_SCHEME = "v1"
# Visible ASCII without the full stop: the specification forbids it in an id, for it separates what is signed.
_MESSAGE_ID = re.compile(r"[!-\-/-~]{1,256}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_OTHER_FORMATS = {
    "v1,": "it starts with a signature's version (v1,): give the text from whsec_ on",
    "whpk_": "whpk_ marks the public key of an asymmetric pair, which cannot sign or check a v1 signature",
    "whsk_": "whsk_ marks the private key of an asymmetric pair, which cannot sign or check a v1 signature",
}

_log = logging.getLogger(__name__)


class MalformedSecret(ValueError):
    """The signing secret is not `whsec_` followed by the base64 of 24 to 64 bytes. The message never quotes it."""


class VerificationFailed(Exception):
    """The request is not proven to come from a holder of the secret.

    `rule` is a short id (`headers`, `timestamp`, `secrets`, `signature`), `reason` a sentence, and `fingerprints` names
    the keys that were tried without giving them away.
    """

    def __init__(self, rule: str, reason: str, fingerprints: tuple[str, ...] = ()) -> None:
        tried = f" Tried keys: {', '.join(fingerprints)}." if fingerprints else ""
        super().__init__(reason + tried)
        self.rule = rule
        self.reason = reason
        self.fingerprints = fingerprints


def sign(secrets: Iterable[str], message_id: str, timestamp: int, body: bytes) -> str:
    """The `webhook-signature` value: one signature for each live secret, in the order given (newest first).

    `timestamp` is that of this attempt, in whole Unix seconds. Raises MalformedSecret, also when there is no secret at
    all, and ValueError for a message id that the specification does not allow.
    """
    if not _MESSAGE_ID.fullmatch(message_id):
        raise ValueError("A message id must be 1 to 256 visible ASCII characters without a full stop.")
    signed = _signed_content(message_id, str(timestamp), body)
    signatures = " ".join([_signature(decode_secret(secret), signed) for secret in secrets])
    if not signatures:
        raise MalformedSecret("There is no signing secret to sign with.")
    return signatures


def verify(
    secrets: Iterable[str],
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: float,
    tolerance_seconds: int = TOLERANCE_SECONDS,
) -> str:
    """Check a received request and return its message id, the key to deduplicate on.

    `body` is exactly what was received; `now` is when it arrived, in Unix seconds. Any one matching `v1` signature by
    any one secret is enough. Raises VerificationFailed whatever the headers hold, and MalformedSecret when a secret,
    which is the caller's own configuration, is unusable.
    """
    keys = [decode_secret(secret) for secret in secrets]
    if not keys:
        raise VerificationFailed("secrets", "No signing secret is configured, so nothing can be verified.")
    message_id = _required(headers, ID_HEADER, _MESSAGE_ID)
    timestamp = _required(headers, TIMESTAMP_HEADER, _TIMESTAMP)
    offered = _offered_signatures(_single(headers, SIGNATURE_HEADER))
    _check_age(int(timestamp), now, tolerance_seconds)
    signed = _signed_content(message_id, timestamp, body)
    expected = [_signature(key, signed).encode() for key in keys]
    # No short circuit: how long this takes must not tell which key or which signature came close.
    matches = [hmac.compare_digest(ours, theirs) for ours in expected for theirs in offered]
    if not any(matches):
        raise VerificationFailed("signature", "No signature matches.", tuple(_key_fingerprint(key) for key in keys))
    return message_id


# Decoding costs more than signing a small body; the bound is a few hundred kilobytes of keys.
@lru_cache(maxsize=4096)
def decode_secret(secret: str) -> bytes:
    """The key that a `whsec_…` secret encodes. Raises MalformedSecret naming the rule that is broken.

    White space around the secret is removed with a warning in the log: it comes from pasting, and would otherwise make
    every signature wrong without a word.
    """
    text = secret.strip()
    key = _decode_base64(_encoded_key(text))
    if not MIN_KEY_BYTES <= len(key) <= MAX_KEY_BYTES:
        raise MalformedSecret(
            f"A signing secret must encode {MIN_KEY_BYTES} to {MAX_KEY_BYTES} bytes; this one encodes {len(key)}."
        )
    if text != secret:
        _log.warning("White space around the signing secret with key %s was ignored.", _key_fingerprint(key))
    return key


def new_secret() -> str:
    """A fresh signing secret: 32 bytes from the system's random source, the one chance here that is no argument."""
    return KEY_PREFIX + base64.b64encode(token_bytes(NEW_KEY_BYTES)).decode("ascii")


def fingerprint(secret: str) -> str:
    """Twelve hex digits that name a secret's key in logs and on screen. Raises MalformedSecret."""
    return _key_fingerprint(decode_secret(secret))


def _key_fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"signing key fingerprint\0" + key).hexdigest()[:12]


def _signed_content(message_id: str, timestamp: str, body: bytes) -> bytes:
    return b"".join((message_id.encode("ascii"), b".", timestamp.encode("ascii"), b".", body))


def _signature(key: bytes, signed: bytes) -> str:
    return f"{_SCHEME},{binascii.b2a_base64(hmac.digest(key, signed, 'sha256'), newline=False).decode('ascii')}"


def _offered_signatures(header: str) -> list[bytes]:
    """The signatures of the header, each still behind its version: those of other versions can match none of ours."""
    # Text outside ASCII becomes "?", which no base64 holds: it cannot match, and comparing bytes cannot raise.
    return [entry.encode("ascii", "replace") for entry in header.split(" ")]


def _check_age(timestamp: int, now: float, tolerance_seconds: int) -> None:
    ahead = timestamp - now
    if not abs(ahead) <= tolerance_seconds:
        where = "in the future" if ahead > 0 else "old"
        raise VerificationFailed(
            "timestamp", f"The timestamp is {abs(ahead):.0f} s {where}; at most {tolerance_seconds} s are allowed."
        )


def _required(headers: Mapping[str, str], name: str, form: re.Pattern[str]) -> str:
    value = _single(headers, name)
    if not form.fullmatch(value):
        raise VerificationFailed("headers", f"The header {name} is malformed.")
    return value


def _single(headers: Mapping[str, str], name: str) -> str:
    """The header's value in any spelling of its name, for proxies and HTTP/2 change the case."""
    found = [value for key, value in headers.items() if isinstance(key, str) and key.lower() == name]
    if not found:
        raise VerificationFailed("headers", f"The header {name} is missing.")
    value = found[0]
    if not isinstance(value, str):
        raise VerificationFailed("headers", f"The header {name} is malformed.")
    if any(other != value for other in found):
        raise VerificationFailed("headers", f"The header {name} came with different values.")
    return value


def _encoded_key(text: str) -> str:
    for beginning, fault in _OTHER_FORMATS.items():
        if text.startswith(beginning):
            raise MalformedSecret(f"This is not a signing secret: {fault}.")
    if not text.startswith(KEY_PREFIX):
        raise MalformedSecret(f"A signing secret starts with {KEY_PREFIX}.")
    if any(character.isspace() for character in text):
        raise MalformedSecret("A signing secret holds no white space.")
    return text.removeprefix(KEY_PREFIX)


def _decode_base64(encoded: str) -> bytes:
    fault = f"What follows {KEY_PREFIX} must be standard base64 (A-Z a-z 0-9 + /) with its padding, nothing else."
    try:
        key = base64.b64decode(encoded)
    except ValueError:
        raise MalformedSecret(fault) from None
    # Decoders pass over foreign characters and stray bits, down to an empty key; encoding again shows what was lost.
    if base64.b64encode(key).decode("ascii") != encoded:
        raise MalformedSecret(fault)
    return key
