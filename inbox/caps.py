"""How large a body each provider may send, where the source does not say. Pure."""

from typing import Final

DEFAULT_CAP_BYTES: Final = 5 * 1024 * 1024
"""Far above what the other providers document or were seen to send, and small enough to hold in memory per request."""

# "Payloads are capped at 25 MB": https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap
_CAPS: Final = {"github": 25_000_000}

LARGEST_CAP_BYTES: Final = 100_000_000


def body_cap_bytes(scheme: str) -> int:
    """The provider's documented maximum, or the default."""
    return _CAPS.get(scheme, DEFAULT_CAP_BYTES)
