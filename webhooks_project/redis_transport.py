"""kombu's Redis transport, with one fault mended: a worker whose broker dies lives on.

When the connection is lost, Celery takes the client from the transport and then closes its channels. A channel that
holds unacknowledged messages wants to put them back at that moment, finds no client and raises an AttributeError,
which nothing there expects: the worker process ends (kombu 5.7.0; reported since 3.0 as celery/kombu issues 582, 970).
As a connection error it is one of the errors that every caller expects; the messages come back by their visibility
timeout, and what they would have woken is found by the sweep long before.
"""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis
from redis.exceptions import ConnectionError as LostConnection


class Channel(redis.Channel):
    """A channel that knows when its transport was let go."""

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if getattr(self.connection, "client", None) is None:
            raise LostConnection("the connection to the broker was given up")
        return super()._connparams(asynchronous=asynchronous)  # type: ignore[misc, no-any-return]


class Transport(redis.Transport):
    """What `redis://` and `rediss://` stand for in this project."""

    Channel = Channel


def install() -> None:
    """Take the place of kombu's own for every connection made from now on."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:Transport"
