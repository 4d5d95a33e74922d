"""Keeps fetched public keys: a door under load, or under attack, must not ask the provider for each request. Pure."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

Key = Mapping[str, Any]

UNKNOWN_SECONDS = 60
"""How long an unknown id stays unknown, and the span over which new ids are counted."""


class TooManyNewKeys(Exception):
    """More new key ids than a provider ever uses were named within a minute: it is not asked about this one."""


@dataclass(frozen=True, slots=True)
class _Answer:
    key: Key | None
    good_until: float


class CachedKeys:
    """A fetcher of keys by id around another one, safe for threads.

    `fetch` returns a key, None when there is none of that id, and raises when it cannot be asked. A key is kept for
    `fresh_seconds`, an unknown id for a minute. When asking again fails, the old key still serves. Anyone can make up
    key ids, so only `new_per_minute` of them are asked about; beyond that calls raise TooManyNewKeys.
    """

    def __init__(
        self,
        fetch: Callable[[str], Key | None],
        *,
        fresh_seconds: float = 600,
        new_per_minute: int = 10,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._fresh_seconds = fresh_seconds
        self._clock = clock
        self._lock = Lock()
        self._answers: dict[str, _Answer] = {}
        self._new: deque[float] = deque(maxlen=new_per_minute)

    def __call__(self, key_id: str) -> Key | None:
        now = self._clock()
        with self._lock:
            known = self._answers.get(key_id)
            if known is not None and now < known.good_until:
                return known.key
            if known is None or known.key is None:
                self._count_new(now)
        # Outside the lock: other keys go on being served while the provider is slow.
        try:
            key = self._fetch(key_id)
        except Exception:
            if known is None or known.key is None:
                raise
            key = known.key
        with self._lock:
            self._remember(key_id, key, now)
        return key

    def _count_new(self, now: float) -> None:
        if len(self._new) == self._new.maxlen and now - self._new[0] < UNKNOWN_SECONDS:
            raise TooManyNewKeys
        self._new.append(now)

    def _remember(self, key_id: str, key: Key | None, now: float) -> None:
        # What strangers made us remember goes first, so that the cache stays as small as the provider's own list.
        outdated = [name for name, old in self._answers.items() if old.key is None and old.good_until <= now]
        for name in outdated:
            del self._answers[name]
        self._answers[key_id] = _Answer(key, now + (self._fresh_seconds if key is not None else UNKNOWN_SECONDS))
