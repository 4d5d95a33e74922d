"""What a handler is given. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Incoming:
    """One proven event. What it says comes from its provider; when it came, and how often it was tried, from us."""

    source: str
    id: str
    """The provider's id, unique within the source."""
    type: str
    """In the provider's words; empty when there is none."""
    payload: bytes
    """The JSON text: the body, or the part of a form that holds the JSON."""
    body: bytes
    """Exactly the bytes that arrived."""
    headers: Mapping[str, str]
    """As they came, in lower case, without those that carry secrets."""
    received_at: datetime
    occurred_at: datetime | None
    """When it happened at the provider, where the provider says so."""
    attempt: int
    """Counts from 1 and goes on after a redrive."""
    idempotency_key: str
    """The same at every attempt: hand it to every system outside the database, so that it can tell a repeat."""

    @cached_property
    def data(self) -> Any:
        """The parsed payload. Numbers that a float cannot hold lose digits: read those from `payload`."""
        return json.loads(self.payload)
