"""What the door has to know of a source: one query, remembered for a moment."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from inbox.caps import body_cap_bytes
from vault.encryption import decrypt

REMEMBERED_SECONDS = 1.0
"""How long a process goes by what it read: so soon a rotation, a revocation or a switch holds at every door."""

_LOOK_UP = """
SELECT source.id, source.slug, source.scheme, source.options, source.enabled, source.body_cap_bytes,
       source.tolerance_seconds, source.ordering_path,
       coalesce(array_agg(held.secret ORDER BY held.created_at DESC, held.id DESC)
                FILTER (WHERE held.id IS NOT NULL), '{}')
FROM inbox_source source
LEFT JOIN inbox_sourcesecret held
  ON held.source_id = source.id AND (held.expires_at IS NULL OR held.expires_at > now())
WHERE source.slug = %s
GROUP BY source.id
"""


@dataclass(frozen=True, slots=True)
class Account:
    """A source as the door sees it; `ciphertexts` are its live secrets, newest first."""

    id: int
    slug: str
    scheme: str
    options: Mapping[str, Any]
    enabled: bool
    cap_bytes: int
    tolerance_seconds: int
    ordering_path: str
    ciphertexts: tuple[str, ...]

    def secrets(self) -> list[str]:
        """The live secrets. Raises UndecryptableValue when a key is missing."""
        return [decrypt(text) for text in self.ciphertexts]


# Bounded: only sources that exist are remembered, and there are few.
_remembered: dict[str, tuple[float, Account]] = {}


def look_up(slug: str, clock: Callable[[], float] = time.monotonic) -> Account | None:
    """The source of this name as it was within the last second; None when there is none."""
    now = clock()
    read_at, known = _remembered.get(slug, (0.0, None))
    if known is not None and now - read_at < REMEMBERED_SECONDS:
        return known
    account = _read(slug)
    if account is None:
        _remembered.pop(slug, None)
    else:
        _remembered[slug] = now, account
    return account


def _read(slug: str) -> Account | None:
    with connection.cursor() as cursor:
        cursor.execute(_LOOK_UP, [slug])
        row = cursor.fetchone()
    if row is None:
        return None
    id, slug, scheme, options, enabled, cap, tolerance, path, ciphertexts = row
    cap = cap or body_cap_bytes(scheme)
    return Account(id, slug, scheme, json.loads(options), enabled, cap, tolerance, path, tuple(ciphertexts))
