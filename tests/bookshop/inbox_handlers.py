"""The handlers of the bookshop."""

import time

from inbox import Incoming, Logic, handler
from tests.bookshop.models import Effect

SOURCE = "bookshop"


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
