"""Names for the keys of sources: the same twelve digits that a refusal gives for the keys it tried. Pure."""

from endpoints import signing
from inbox.schemes import ed25519, keys


def key_fingerprint(scheme: str, secret: str) -> str:
    """The fingerprint of a secret that the scheme accepts."""
    text = secret.strip()
    if scheme == "standard-webhooks":
        if text.startswith(ed25519.KEY_PREFIX):
            return keys.fingerprint(ed25519.public_key(text))
        return signing.fingerprint(text)
    if scheme == "adyen":
        return keys.fingerprint(bytes.fromhex(text))
    return keys.fingerprint(keys.text_key(text))
