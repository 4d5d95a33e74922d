"""Names to addresses, within a deadline.

getaddrinfo has no timeout and cannot be interrupted, so it runs in a thread of its own and is left behind when the
call runs out of time. Calls for the same name share one lookup, so a name server that hangs costs one thread a name.
"""

import ipaddress
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from deliveries.outcomes import Failure
from deliveries.transport.deadline import Call
from deliveries.transport.faults import Fault, lookup_fault

Resolver = Callable[..., Sequence[Any]]
"""Called as `resolver(host, port, type=SOCK_STREAM)`; answers and raises like `socket.getaddrinfo`."""

MAX_LOOKUPS_AT_ONCE = 128


class Lookups:
    """Resolves host names. Safe to use from many threads."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._slots = threading.BoundedSemaphore(MAX_LOOKUPS_AT_ONCE)
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], Future[list[str]]] = {}

    def addresses(self, host: str, port: int, call: Call) -> list[str]:
        """All addresses of a host, in the order to try them; a literal is its own. Raises Fault."""
        if is_literal(host):
            return [host]
        try:
            lookup = self._join_or_start(host, port, call)
            found = lookup.result(call.remaining())
        except TimeoutError:
            raise Fault(
                Failure.TIMEOUT, f"looking up {host} did not finish within {call.timeout_seconds:g} s"
            ) from None
        except (OSError, UnicodeError, RuntimeError) as error:
            raise lookup_fault(error, host) from None
        if not found:
            raise Fault(Failure.DNS, f"there is no address for {host}")
        return found

    def _join_or_start(self, host: str, port: int, call: Call) -> Future[list[str]]:
        with self._lock:
            if (host, port) in self._under_way:
                return self._under_way[host, port]
        if not self._slots.acquire(timeout=call.remaining()):
            raise TimeoutError
        with self._lock:
            # Another thread may have started the same lookup while this one waited for a slot.
            if (host, port) in self._under_way:
                self._slots.release()
                return self._under_way[host, port]
            lookup = self._under_way[host, port] = Future()
        thread = threading.Thread(target=self._resolve, args=(host, port, lookup), name="holdfast-dns", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._forget(host, port)
            lookup.set_exception(error)
        return lookup

    def _resolve(self, host: str, port: int, lookup: Future[list[str]]) -> None:
        try:
            answers = self._resolver(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in answers))
        except Exception as error:
            self._forget(host, port)
            lookup.set_exception(error)
        else:
            self._forget(host, port)
            lookup.set_result(addresses)

    def _forget(self, host: str, port: int) -> None:
        # Before the result is out: a caller that comes later wants a fresh answer.
        with self._lock:
            del self._under_way[host, port]
        self._slots.release()


def is_literal(host: str) -> bool:
    """Whether a host is an IP address already."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
