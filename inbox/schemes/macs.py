"""Message authentication codes, compared in constant time. Pure."""

import base64
import hmac
from collections.abc import Callable, Iterable, Sequence

from inbox.schemes.keys import fingerprint
from inbox.schemes.scheme import Reason, Refused


def prove(keys: Sequence[bytes], offered: Iterable[str], sign: Callable[[bytes], bytes]) -> None:
    """Raises Refused unless any offered signature is what `sign` makes of any key, in the same encoding."""
    # Comparing bytes cannot raise; text outside ASCII becomes "?", which neither hex nor base64 holds.
    theirs = [text.encode("ascii", "replace") for text in offered]
    ours = [sign(key) for key in keys]
    # No short circuit: how long this takes must not tell which key or which signature came close.
    matches = [hmac.compare_digest(mine, yours) for mine in ours for yours in theirs]
    if not any(matches):
        raise mismatch(keys)


def mismatch(keys: Sequence[bytes]) -> Refused:
    """The refusal of a well-formed signature that no key has made."""
    return Refused(Reason.BAD_SIGNATURE, "No signature matches.", tuple(fingerprint(key) for key in keys))


def hex_mac(key: bytes, signed: bytes, algorithm: str = "sha256") -> bytes:
    """The HMAC in lower-case hex."""
    return hmac.digest(key, signed, algorithm).hex().encode()


def base64_mac(key: bytes, signed: bytes, algorithm: str = "sha256") -> bytes:
    """The HMAC in standard base64 with its padding."""
    return base64.b64encode(hmac.digest(key, signed, algorithm))
