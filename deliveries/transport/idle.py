"""Connections that wait for their next request, kept short and few."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

# Apache httpd (KeepAliveTimeout), Node.js (server.keepAliveTimeout) and uvicorn (--timeout-keep-alive) close an idle
# connection after 5 seconds. A request that crosses such a close on the wire ends as `unknown`, so ours go first.
MAX_IDLE_SECONDS = 4.0

# File descriptors of one process, well below the usual soft limit of 1024 together with the connections in use.
MAX_IDLE_CONNECTIONS = 512


class Waiting(Protocol):
    """What is asked of a connection that waits."""

    @property
    def is_connected(self) -> bool: ...

    def close(self) -> None: ...


C = TypeVar("C", bound=Waiting)


class IdleConnections(Generic[C]):
    """Idle connections by target, newest first. Safe to use from many threads.

    There is no clean-up thread: what has waited too long is closed whenever another connection comes in.
    """

    def __init__(
        self,
        *,
        max_idle_seconds: float = MAX_IDLE_SECONDS,
        max_connections: int = MAX_IDLE_CONNECTIONS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_idle_seconds = max_idle_seconds
        self._max_connections = max_connections
        self._clock = clock
        self._lock = threading.Lock()
        self._by_target: dict[Hashable, deque[C]] = {}
        self._since: OrderedDict[C, tuple[float, Hashable]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._since)

    def put(self, target: Hashable, connection: C) -> None:
        """Keep a connection whose last answer was read to its end."""
        now = self._clock()
        with self._lock:
            self._by_target.setdefault(target, deque()).append(connection)
            self._since[connection] = (now, target)
            surplus = self._remove_surplus(now)
        for unwanted in surplus:
            unwanted.close()

    def take(self, target: Hashable) -> C | None:
        """The connection to this target that waited least and is still good, or None."""
        while True:
            with self._lock:
                connections = self._by_target.get(target)
                if not connections:
                    return None
                connection = connections.pop()
                since, _ = self._since.pop(connection)
                if not connections:
                    del self._by_target[target]
            if self._clock() - since <= self._max_idle_seconds and connection.is_connected:
                return connection
            connection.close()

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            unwanted = list(self._since)
            self._since.clear()
            self._by_target.clear()
        for connection in unwanted:
            connection.close()

    def _remove_surplus(self, now: float) -> list[C]:
        surplus = []
        while self._since:
            oldest, (since, target) = next(iter(self._since.items()))
            if len(self._since) <= self._max_connections and now - since <= self._max_idle_seconds:
                break
            del self._since[oldest]
            # The oldest of all is also the oldest of its target.
            connections = self._by_target[target]
            connections.popleft()
            if not connections:
                del self._by_target[target]
            surplus.append(oldest)
        return surplus
