"""The handlers of the bookshop."""

import time
from zlib import crc32

from inbox import Incoming, Logic, Transient, handler
from tests.bookshop.models import Effect

SOURCE = "bookshop"
LOOPBACK = "loopback"
"""The source to which Holdfast itself delivers."""


def _note(event: Incoming, kind: str) -> None:
    Effect.objects.create(source=event.source, event_id=event.id, key=event.idempotency_key, kind=kind)


@handler(SOURCE, "order.*")
def take_order(event: Incoming) -> None:
    """Write first, then take a moment: a worker that is killed meanwhile leaves nothing behind."""
    _note(event, "order")
    time.sleep(0.01)


@handler(SOURCE, "charge", two_phase=True, lease_seconds=2)
def charge(event: Incoming) -> None:
    """The world outside sees each attempt; it tells a repeat by the key."""
    _note(event, "charge")
    if event.attempt == 1:
        # Long enough to be killed, and longer than the lease.
        time.sleep(60)


@handler(SOURCE, "broken")
def fail(event: Incoming) -> None:
    """Nobody has mended it yet."""
    raise Logic("The shelf is missing.")


@handler(LOOPBACK, lease_seconds=5)
def take_own(event: Incoming) -> None:
    """Write, and fail after that at one event's first attempt in twenty: what it wrote is undone."""
    _note(event, "own")
    if event.attempt == 1 and crc32(event.id.encode()) % 20 == 0:
        raise Transient("Not yet.")
