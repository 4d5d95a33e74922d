"""What a proven body says, read without trusting it to be JSON. Pure; nothing here runs before verification."""

import hashlib
import json
from datetime import datetime
from typing import Any
from urllib.parse import unquote_to_bytes

MAX_NAME_CHARACTERS = 255
"""Longest event id or type taken from a request: it becomes a column with an index."""

FORM = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 100
"""Slack's largest forms, slash commands, have about fifteen fields."""

_LATEST_UNIX_SECONDS = 100_000_000_000
"""The year 5138: larger numbers are milliseconds, not times to believe."""


def parsed(payload: bytes) -> Any | None:
    """The JSON document, None when it is not one (as is the document `null`, which says as little)."""
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):  # bad syntax, bad UTF-8 or a number of thousands of digits; too deep
        return None


def at(document: Any, path: str) -> Any | None:
    """The value at a dotted path (`data.items.0.id`), None when any step of it is missing."""
    for step in path.split("."):
        if isinstance(document, list) and step.isdecimal() and len(step) < 9 and int(step) < len(document):
            document = document[int(step)]
        elif isinstance(document, dict):
            document = document.get(step)
        else:
            return None
    return document


def name(value: Any) -> str:
    """A text or whole number as an id or type, empty when it cannot be one.

    Control characters and lone surrogates cannot be stored; cutting a long id could make two of them one.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**20 else ""
    if not isinstance(value, str) or len(value) > MAX_NAME_CHARACTERS or not value.isprintable():
        return ""
    return value if value.strip() else ""


def name_at(document: Any, path: str) -> str:
    """The id or type at a dotted path, empty when there is none."""
    return name(at(document, path))


def digest(body: bytes) -> str:
    """The id of a body that names none: the same bytes are the same event."""
    return hashlib.sha256(body).hexdigest()


def unix_seconds(value: Any) -> float | None:
    """A number of Unix seconds, or an ISO 8601 text with its offset, as Unix seconds; None when it is neither."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
            return moment.timestamp() if moment.tzinfo is not None else None
        except (ValueError, OverflowError):  # no time; or one that its offset carries out of the calendar
            return None
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _LATEST_UNIX_SECONDS:
        return float(value)
    return None


def form_fields(body: bytes) -> dict[str, bytes]:
    """The fields of an `application/x-www-form-urlencoded` body, each decoded exactly once.

    Empty when a name comes twice or there are too many: which one was meant is not for us to guess.
    """
    pairs = [pair.partition(b"=") for pair in body.split(b"&", MAX_FORM_FIELDS) if pair]
    fields = {_unquoted(key).decode(errors="replace"): _unquoted(value) for key, _, value in pairs}
    return fields if len(fields) == len(pairs) <= MAX_FORM_FIELDS else {}


def _unquoted(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" "))
