"""Which headers of its own an endpoint may ask for. Pure."""

import re

MAX_NAME_LENGTH = 100
# Common servers take about 8 KiB for one header line; bearer tokens reach half of that.
MAX_VALUE_LENGTH = 8000

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[ -~]+")
# What the sender itself states about the message, and what belongs to the connection (RFC 9110, sections 7.6 and 10.1);
# a trace differs with every request (W3C Trace Context).
_RESERVED = {
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "expect",
    "host",
    "keep-alive",
    "te",
    "traceparent",
    "tracestate",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_RESERVED_PREFIXES = ("webhook-", "proxy-", "holdfast-")


def header_fault(name: object, value: object) -> str | None:
    """Why this header may not be sent, in a sentence; None when it may. The sentence never quotes the value.

    A name is a token (RFC 9110, section 5.6.2) that the sender does not set itself, in any case. A value is visible
    ASCII with spaces inside: beyond ASCII, receivers disagree on the charset (section 5.5).
    """
    return _name_fault(name) or _value_fault(str(name), value)


def _name_fault(name: object) -> str | None:
    if not isinstance(name, str) or not _TOKEN.fullmatch(name):
        return "A header name must be ASCII letters, digits and !#$%&'*+-.^_`|~, at least one."
    if name.lower() in _RESERVED or name.lower().startswith(_RESERVED_PREFIXES):
        return f"The header {name} is set by the sender and cannot be replaced."
    if len(name) > MAX_NAME_LENGTH:
        return f"A header name may have at most {MAX_NAME_LENGTH} characters, not {len(name)}."
    return None


def _value_fault(name: str, value: object) -> str | None:
    if not isinstance(value, str):
        return f"The value of {name} must be text, not {type(value).__name__}."
    if not value:
        return f"The value of {name} must not be empty; leave the header out instead."
    if not _VISIBLE.fullmatch(value):
        return f"The value of {name} must not hold line breaks, other control characters or anything beyond ASCII."
    if value != value.strip():
        return f"The value of {name} must not start or end with a space: receivers would drop it."
    if len(value) > MAX_VALUE_LENGTH:
        return f"The value of {name} may have at most {MAX_VALUE_LENGTH} characters, not {len(value)}."
    return None
