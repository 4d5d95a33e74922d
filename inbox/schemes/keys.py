"""From secrets, as people paste them, to keys and to names for keys. Pure."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import lru_cache

from endpoints.signing import MalformedSecret
from inbox.schemes.scheme import Reason, Refused

MIN_TEXT_CHARACTERS = 16
"""Shorter secrets can be guessed offline from one captured request; every provider's own are longer."""

MAX_TEXT_CHARACTERS = 1024

_log = logging.getLogger(__name__)


# The cache makes the warning come once per secret and process, not once per request.
@lru_cache(maxsize=1024)
def text_key(secret: str) -> bytes:
    """The UTF-8 bytes of a secret whose text is the key. Raises MalformedSecret.

    White space around it comes from pasting or from a file's last line, and would make every signature wrong without a
    word: it is removed with a warning. White space inside may be meant, for some providers let people choose the text.
    """
    text = secret.strip()
    if not MIN_TEXT_CHARACTERS <= len(text) <= MAX_TEXT_CHARACTERS:
        raise MalformedSecret(
            f"A secret of this scheme has {MIN_TEXT_CHARACTERS} to {MAX_TEXT_CHARACTERS} characters; "
            f"this one has {len(text)}."
        )
    if not text.isprintable():
        raise MalformedSecret("The secret holds line breaks or control characters.")
    key = text.encode()
    if text != secret:
        _log.warning("White space around the secret with key %s was ignored.", fingerprint(key))
    return key


def live_keys(secrets: Sequence[str], decode: Callable[[str], bytes]) -> list[bytes]:
    """The key of every live secret. Raises Refused when there is none, or when any of them is unusable.

    One unusable secret refuses everything although others might match: a rotation that would fail at its end must show
    at its beginning.
    """
    if not secrets:
        raise Refused(Reason.NO_SECRET, "No secret is configured, so nothing can be verified.")
    try:
        return [decode(secret) for secret in secrets]
    except MalformedSecret as fault:
        raise Refused(Reason.MALFORMED_SECRET, str(fault)) from None


def fault_of(secret: str, decode: Callable[[str], object]) -> str | None:
    """The sentence that `decode` has against the secret, None when it has none."""
    try:
        decode(secret)
    except MalformedSecret as fault:
        return str(fault)
    return None


def fingerprint(key: bytes) -> str:
    """Twelve hex digits that name a key in logs and on screen; the same as for the sender's signing secrets."""
    return hashlib.sha256(b"signing key fingerprint\0" + key).hexdigest()[:12]
