"""What a transport is asked to send, checked before anything goes out."""

import functools
import re
from dataclasses import dataclass
from typing import Protocol

from deliveries.outcomes import Exchange, Failure
from deliveries.transport.faults import Fault
from endpoints.addressing import Target, UnusableURL, split_target

DEFAULT_USER_AGENT = "Holdfast/1.0"

# RFC 9110, section 5.6.2 (token) and section 5.5 (visible ASCII, space and tab).
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")

# The transport states these itself: they follow from the URL, the body and the connection.
_OWN_HEADERS = frozenset({"accept-encoding", "connection", "content-length", "expect", "host", "transfer-encoding"})


@dataclass(slots=True)
class Request:
    """One POST. `url` is canonical, `body` exactly the bytes that were signed."""

    url: str
    headers: dict[str, str]
    body: bytes
    timeout_seconds: float
    """Wall-clock time for all of it: name lookup, connect, TLS, request and answer."""
    ca_pem: str = ""
    """CA certificates to trust instead of the public ones."""


class Transport(Protocol):
    """The seam between an attempt and the network."""

    def send(self, request: Request) -> Exchange:
        """Send once and say what happened. Never raises for anything the network or the receiver does."""
        ...

    def close(self) -> None:
        """Let go of what is held between requests. It can be used again afterwards."""
        ...


@functools.lru_cache(maxsize=16_384)
def target_of(url: str) -> Target:
    """Take a URL apart, once for all its requests. Raises Fault (internal) for one that cannot be sent to."""
    try:
        return split_target(url)
    except UnusableURL as error:
        raise Fault(Failure.INTERNAL, f"the URL of this endpoint cannot be used ({error.rule})") from None


def headers_to_send(request: Request, target: Target, user_agent: str) -> dict[str, str]:
    """All headers in the order they are sent. Raises Fault (internal) when one would break the request."""
    headers = {"Host": target.authority, "User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "identity"}
    for name, value in request.headers.items():
        _refuse_broken(name, value)
        lowered = name.lower()
        if lowered == "user-agent":
            # Firewalls refuse requests without an agent, so an empty one means ours.
            headers["User-Agent"] = value or user_agent
        elif lowered == "accept":
            headers["Accept"] = value
        else:
            headers[name] = value
    headers["Content-Length"] = str(len(request.body))
    return headers


def _refuse_broken(name: str, value: str) -> None:
    # A line break in a value would start a header of the attacker's choice. Neither name nor value is quoted.
    if not _HEADER_NAME.fullmatch(name):
        raise Fault(Failure.INTERNAL, "a header name holds characters that cannot be sent")
    if not _HEADER_VALUE.fullmatch(value):
        raise Fault(Failure.INTERNAL, f"the value of header {name} holds characters that cannot be sent")
    if name.lower() in _OWN_HEADERS:
        raise Fault(Failure.INTERNAL, f"header {name} is set by the transport and cannot be given")
