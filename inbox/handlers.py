"""Which function deals with which events: the registry behind `@handler`. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from inbox.errors import HandlerConflict
from inbox.incoming import Incoming

LEASE_SECONDS = 60
"""How long an attempt may take before its worker counts as dead, unless the handler says otherwise."""

ANY = "*"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Handler:
    """One function and what it asked for."""

    name: str
    call: Callable[..., Any]
    two_phase: bool
    lease_seconds: int
    fetch: Callable[[Incoming], Any] | None
    object_key: Callable[[Incoming], str] | None


_registry: dict[tuple[str, str], Handler] = {}


def handler(
    source: str,
    *patterns: str,
    two_phase: bool = False,
    lease_seconds: int = LEASE_SECONDS,
    fetch: Callable[[Incoming], Any] | None = None,
    object_key: Callable[[Incoming], str] | None = None,
) -> Callable[[Function], Function]:
    """Have a function called with every event of a source whose type matches one of the patterns.

    A pattern is a type, a beginning such as `payment.*` or `orders/*`, or `*` (which is also meant without patterns);
    the longest that matches wins, and exactly one function gets an event.

    The function runs in the transaction that marks the event processed: both happen or neither, so it must do nothing
    outside the database. With `two_phase` it runs outside any transaction and may: it is called again, with the same
    `event.idempotency_key`, when its worker died in between. It has `lease_seconds` before that is assumed; as an event
    is leased before its handler is known, the longest of a source holds for all its events.

    With `fetch` and `object_key` (to be given together) the function gets a second argument: what `fetch(event)`
    returned, called outside the transaction. Events of one object that arrived before a fetch for it began are covered
    by that fetch, and end without one of their own.

    Raises HandlerConflict when a pattern of the source has another handler, and ValueError for options that do not go
    together.
    """
    if (fetch is None) != (object_key is None):
        raise ValueError("fetch and object_key are given together.")
    if fetch is not None and two_phase:
        raise ValueError("A handler that fetches runs in a transaction: two_phase does not go with it.")

    def register(function: Function) -> Function:
        made = Handler(_name(function), function, two_phase, lease_seconds, fetch, object_key)
        for pattern in patterns or (ANY,):
            known = _registry.setdefault((source, pattern), made)
            if known.name != made.name:
                raise HandlerConflict(f"{pattern} of {source} is handled by {known.name} and by {made.name}.")
        return function

    return register


def find(source: str, event_type: str) -> Handler | None:
    """The handler of the longest matching pattern; None when the type is unhandled."""
    return next((found for each in candidates(event_type) if (found := _registry.get((source, each)))), None)


def candidates(event_type: str) -> tuple[str, ...]:
    """The patterns that match a type, longest first: `a.b` gives `a.b`, `a.*`, `*`; a slash separates like a dot."""
    ends = [match.end() for match in re.finditer(r"[./]", event_type)]
    return (event_type, *(f"{event_type[:end]}*" for end in reversed(ends)), ANY)


def longest_lease_seconds(source: str) -> int:
    """What an event of the source may need before it is known which handler gets it."""
    return max((each.lease_seconds for (name, _), each in _registry.items() if name == source), default=LEASE_SECONDS)


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{getattr(function, '__qualname__', repr(function))}"
