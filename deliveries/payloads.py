"""Renders an event's body once, strictly: the text stored here is the text signed, sent and sent again.

Strict JSON: an object or array on top, text keys, finite numbers, text that is valid Unicode, at most MAX_BYTES of
UTF-8 and MAX_DEPTH levels. Inside the data a tuple is written as an array; anything else the caller converts first, as
no one spelling of a Decimal or a date suits every receiver. NUL in text is fine: JSON escapes it, and the body is
stored as text, not as jsonb, which would refuse it.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from deliveries.errors import InvalidPayload, PayloadTooLarge

MAX_BYTES: Final = 262_144
"""256 KiB of UTF-8 for the whole body, refused on publishing: many receivers and queues take no more."""

MAX_DEPTH: Final = 100
"""Nesting of the data; Ruby's JSON parser stops at 100 by default, Python's own limit depends on the caller's stack."""

MAX_ID_LENGTH: Final = 64

MAX_PATH_LENGTH: Final = 120
"""Characters of a fault's path that an error shows; a hundred levels of it help nobody."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_EVENT_ID: Final = re.compile(r"[A-Za-z0-9_:-]{1,64}")
_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_ONLY_TEXT: Final = frozenset({str})

# Built once: json.dumps() with any option set builds an encoder on every call.
_BODY: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"))
_CANONICAL: Final = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":"), sort_keys=True)

_HOW_TO_CONVERT: Final = {
    "Decimal": "write str(value), so that no digit is lost",
    "datetime": "write value.isoformat()",
    "date": "write value.isoformat()",
    "time": "write value.isoformat()",
    "timedelta": "write value.total_seconds()",
    "UUID": "write str(value)",
    "set": "write sorted(value)",
    "frozenset": "write sorted(value)",
    "bytes": "decode it, or write base64 text",
    "__proxy__": "write str(value), in the language the receiver expects",
    "QuerySet": "write list(queryset.values(...))",
}


def new_event_id(now: datetime, entropy: bytes | None = None) -> str:
    """Return a new event id: `evt_` and a UUIDv7 (RFC 9562, 5.7) as 32 hex digits, which sort by time as text.

    `now` is aware. The sub-millisecond part goes into the 12 bits after the version (RFC 9562, 6.2, method 3), so ids
    made in one millisecond still sort. `entropy` is at least 8 random bytes, for tests.
    """
    milliseconds, microseconds = divmod((now - _EPOCH) // _MICROSECOND, 1000)
    noise = int.from_bytes((entropy or os.urandom(8))[:8]) & 0x3FFF_FFFF_FFFF_FFFF
    fraction = microseconds * 4096 // 1000
    return f"evt_{milliseconds << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | noise:032x}"


def event_id_fault(id: object) -> str | None:
    """Return a sentence saying why `id` cannot be an event id, or None when it can.

    The id travels in the `webhook-id` header and in the signed text `id.timestamp.body`: Standard Webhooks 1.0.0 warns
    that an id holding a full stop lets one signature stand for two messages.
    """
    if not isinstance(id, str):
        return f"An event id is text, not {type(id).__name__}."
    if not id:
        return "An event id is not empty; leave it out to get one made."
    if len(id) > MAX_ID_LENGTH:
        return f"An event id has at most {MAX_ID_LENGTH} characters, this one has {len(id)}."
    if not _EVENT_ID.fullmatch(id):
        return (
            "An event id holds only the letters A-Z and a-z, digits, `_`, `-` and `:`; "
            "a full stop would blur where the id ends in the signed text."
        )
    return None


def render(*, id: str, type: str, created_at: datetime, sequence: int, data: Any) -> str:
    """Return the body of an event as JSON text, keys in the order id, type, created_at, sequence, data.

    `created_at` is aware; it is written as RFC 3339 in UTC with milliseconds. Raises InvalidPayload, whose `field` is
    the path of the first fault (`data.a[0]`), and PayloadTooLarge.
    """
    if not isinstance(data, dict | list):
        raise InvalidPayload(f"The data is a dict or a list, not {_name(data)}.", rule="not-a-container")
    body = {"id": id, "type": type, "created_at": _rfc3339(created_at), "sequence": sequence, "data": data}
    text, size = _encode(_BODY, body, data)
    if size > MAX_BYTES:
        raise PayloadTooLarge(
            f"The body is {size:,} bytes of UTF-8 and may be {MAX_BYTES:,}: publish a link to the data instead."
        )
    return text


def fingerprint(*, type: str, tenant: str, data: Any) -> str:
    """Return a SHA-256 in hex that is equal for equal content, whatever the order of keys. Raises InvalidPayload."""
    text, _size = _encode(_CANONICAL, [type, tenant, data], data)
    return hashlib.sha256(text.encode()).hexdigest()


def _encode(encoder: json.JSONEncoder, document: Any, data: Any) -> tuple[str, int]:
    """Encode at full speed first; only when that fails walk the data for the path of the fault."""
    try:
        text = encoder.encode(document)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise _explain(data, error) from None
    if not _is_plain(data):
        raise _explain(data, None)
    return text, size


def _is_plain(data: Any) -> bool:
    """Return whether every key is text and the depth is within bounds: the two rules the encoder does not keep.

    Level by level and by exact type, which costs about as much as the encoding; subclasses take the slow way once.
    """
    level = [data]
    for _depth in range(MAX_DEPTH):
        children: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                if not _ONLY_TEXT.issuperset(map(type, node)) and not all(isinstance(key, str) for key in node):
                    return False
                children += [value for value in node.values() if type(value) not in _SCALARS]
            elif isinstance(node, list | tuple):
                children += [value for value in node if type(value) not in _SCALARS]
        if not children:
            return True
        level = children
    return not any(isinstance(node, dict | list | tuple) for node in level)


def _explain(data: Any, error: Exception | None) -> InvalidPayload:
    for path, rule, sentence in _faults(data, "data", 1):
        field = path if len(path) <= MAX_PATH_LENGTH else f"{path[:MAX_PATH_LENGTH]}…"
        return InvalidPayload(f"{field}: {sentence}", field=field, rule=rule)
    return InvalidPayload(f"The event cannot be written as JSON: {error}.", rule="malformed")


def _faults(value: Any, path: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Walk the data in order and yield each fault as path, rule and sentence."""
    if not isinstance(value, dict | list | tuple):
        yield from _scalar_fault(value, path)
    elif depth > MAX_DEPTH:
        yield path, "too-deep", f"nested deeper than {MAX_DEPTH} levels, or holding itself."
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                yield path, "key-not-text", f"the key {key!r:.80} is {_name(key)}; JSON keys are text, write str(key)."
            elif not _is_unicode(key):
                yield (
                    path,
                    "lone-surrogate",
                    f"the key {key!a:.80} holds half a surrogate pair, which UTF-8 cannot carry.",
                )
            else:
                yield from _faults(item, f"{path}.{key}", depth + 1)
    else:
        for index, item in enumerate(value):
            yield from _faults(item, f"{path}[{index}]", depth + 1)


def _scalar_fault(value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        if not _is_unicode(value):
            yield path, "lone-surrogate", "the text holds half a surrogate pair, which UTF-8 cannot carry."
    elif not isinstance(value, int | float | None):
        advice = _HOW_TO_CONVERT.get(type(value).__name__, "convert it first")
        yield path, "not-json", f"{_name(value)} is not a JSON type; {advice}."
    else:
        try:
            _BODY.encode(value)
        except ValueError:
            yield path, "not-finite", "JSON has no NaN, no Infinity and no number this long; write null or text."


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIO" else f"a {name}"


def _rfc3339(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise InvalidPayload(
            "created_at has no time zone; pass an aware datetime.", field="created_at", rule="naive-datetime"
        )
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
