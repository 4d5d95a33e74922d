"""Which certificate authorities of its own an endpoint may bring. Pure."""

import re
import ssl
from typing import Final

MAX_LENGTH: Final = 64 * 1024
"""About forty certificates; a chain has three. The field is read with every batch of deliveries."""

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"
_BLOCK: Final = re.compile(f"^{_BEGIN}.*?^{_END}", re.MULTILINE | re.DOTALL)


def ca_fault(pem: str) -> str | None:
    """Why this text cannot serve as trusted certificates, in a sentence; None when it can, or is empty.

    The text is PEM (RFC 7468): one certificate or more, whatever stands between them. The last word is OpenSSL's, which
    reads it again for each connection.
    """
    if not pem:
        return None
    if len(pem) > MAX_LENGTH:
        return f"At most {MAX_LENGTH:,} characters of PEM, not {len(pem):,}."
    if "PRIVATE KEY" in pem:
        return "This holds a private key, which is nobody's business: paste the certificates alone."
    if not pem.isascii():
        return "PEM is ASCII: there is a character in it that no certificate has."
    blocks = _BLOCK.findall(pem)
    if not blocks or pem.count(_BEGIN) != len(blocks):
        return f"Paste whole certificates in PEM, each with its lines {_BEGIN} and {_END}."
    unreadable = [str(number) for number, block in enumerate(blocks, 1) if not _is_readable(block)]
    if unreadable:
        return f"Certificate {', '.join(unreadable)} of {len(blocks)} cannot be read: it is cut short or altered."
    return None


def _is_readable(pem: str) -> bool:
    try:
        # A protocol has to be named; nothing is connected.
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=f"{pem}\n")
    except (ssl.SSLError, ValueError):
        return False
    return True
