"""Which subscriptions an event type reaches. Pure.

A subscription is matched by equality alone: an event type is expanded into every pattern that would take it, and the
database looks those up in an index. Nothing is ever interpreted as a wildcard in SQL.
"""

import re

MAX_TYPE_LENGTH = 128
EVERYTHING = "*"

# The character set Standard Webhooks recommends for event types, and the hyphen that many senders use.
_SEGMENT = re.compile(r"[A-Za-z0-9_-]+")


def candidate_patterns(event_type: str) -> tuple[str, ...]:
    """Every pattern that takes this event type, the most specific first.

    `payment.card.completed` gives itself, `payment.card.*`, `payment.*` and `*`. The type must be one that
    `event_type_fault` finds usable.
    """
    segments = event_type.split(".")
    prefixes = (".".join(segments[:count]) + ".*" for count in range(len(segments) - 1, 0, -1))
    return (event_type, *prefixes, EVERYTHING)


def event_type_fault(event_type: object) -> str | None:
    """Why this cannot be an event type, in a sentence; None when it can."""
    return _name_fault(event_type, "An event type")


def pattern_fault(pattern: object) -> str | None:
    """Why this cannot be a subscription pattern, in a sentence; None when it can.

    A pattern is an event type, a prefix of whole segments followed by `.*`, or `*` for every type.
    """
    if pattern == EVERYTHING:
        return None
    if isinstance(pattern, str) and len(pattern) <= MAX_TYPE_LENGTH:
        prefix = pattern.removesuffix(".*")
        if EVERYTHING in prefix:
            return "A pattern may hold * only as its whole text or as its last segment, as in payment.*"
        return _name_fault(prefix, "A pattern")
    return _name_fault(pattern, "A pattern")


def _name_fault(name: object, what: str) -> str | None:
    if not isinstance(name, str):
        return f"{what} must be text, not {type(name).__name__}."
    if not name:
        return f"{what} must not be empty."
    if len(name) > MAX_TYPE_LENGTH:
        return f"{what} may have at most {MAX_TYPE_LENGTH} characters, not {len(name)}."
    if not all(_SEGMENT.fullmatch(segment) for segment in name.split(".")):
        return f"{what} must be segments of ASCII letters, digits, _ and - joined by single dots."
    return None
