"""Adyen's standard webhooks, whose signatures stand inside the JSON, one in each notification item. Pure.

Parsing cannot wait for verification here: what is signed are eight values, not bytes. Nothing else of an item is
proven, neither its date nor its additional data.
"""

from collections.abc import Sequence
from typing import Any

from inbox.schemes import bodies, macs
from inbox.schemes.scheme import Reason, Refused, Verified

SIGNED_FIELDS = (
    "pspReference",
    "originalReference",
    "merchantAccountCode",
    "merchantReference",
    "amount.value",
    "amount.currency",
    "eventCode",
    "success",
)
MAX_ITEMS = 10
"""JSON webhooks are documented to hold a single item."""


def verify(body: bytes, keys: Sequence[bytes]) -> Verified:
    """Every item must be proven, for one answer acknowledges all of them. Raises Refused."""
    items = _items(bodies.parsed(body))
    for item in items:
        _prove(item, keys)
    ids = "\n".join(_event_id(item) for item in items)
    return Verified(
        # Several ids are more than one line, which is no name; their digest stands for them.
        event_id=bodies.name(ids) or bodies.digest(ids.encode(errors="surrogatepass")),
        event_type=bodies.name_at(items[0], "eventCode"),
        payload=body,
        occurred_at=bodies.unix_seconds(bodies.at(items[0], "eventDate")),
    )


def _items(document: Any) -> list[Any]:
    containers = bodies.at(document, "notificationItems")
    if not isinstance(containers, list) or not 1 <= len(containers) <= MAX_ITEMS:
        raise _unsigned()
    return [bodies.at(container, "NotificationRequestItem") for container in containers]


def _prove(item: Any, keys: Sequence[bytes]) -> None:
    signature = bodies.at(item, "additionalData.hmacSignature")
    if not isinstance(signature, str) or not signature:
        raise _unsigned()
    values = {path: _text(bodies.at(item, path)) for path in SIGNED_FIELDS}
    # Joined without escaping: a colon in two fields would let one signed text be read as two different payments.
    if any(":" in value for path, value in values.items() if path != "merchantReference"):
        raise macs.mismatch(keys)
    signed = ":".join(values.values()).encode(errors="surrogatepass")
    macs.prove(keys, [signature], lambda key: macs.base64_mac(key, signed))


def _text(value: Any) -> str:
    """As Adyen writes it where it signs: absent is empty, and truth is lower case."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _event_id(item: Any) -> str:
    """What Adyen calls a duplicate, and `success`, for a refused payment may yet succeed: signed fields only."""
    return ":".join(_text(bodies.at(item, field)) for field in ("eventCode", "pspReference", "success"))


def _unsigned() -> Refused:
    return Refused(Reason.NO_SIGNATURE, "Neither the header nor every notification item carries a signature.")
