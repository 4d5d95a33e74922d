"""What the receiver does with one request, as a value (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

BODYLESS = frozenset({204, 304})


class Manner(StrEnum):
    """How an answer goes out."""

    NOW = "now"
    LATER = "later"  # whole, after Plan.seconds
    DRIP = "drip"  # Plan.at_once bytes now, then one byte every Plan.seconds
    HANG = "hang"  # never; the connection stays open until the peer leaves
    RESET = "reset"  # RST once the request is read
    HANG_UP = "hangup"  # FIN once the request is read


@dataclass(frozen=True, slots=True)
class Plan:
    """One decision: the bytes to send and the manner. ``status`` is None when no answer is ever finished."""

    label: str
    status: int | None = None
    data: bytes = b""
    manner: Manner = Manner.NOW
    seconds: float = 0.0
    at_once: int = 0
    closes: bool = False

    @property
    def accepts(self) -> bool:
        """Whether the sender may take the event as delivered."""
        return self.status is not None and 200 <= self.status < 300


def reason(status: int) -> str:
    """The reason phrase of a status code, also for codes nobody registered."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unregistered"


def response(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a whole HTTP/1.1 response with a Content-Length."""
    lines = [f"HTTP/1.1 {status} {reason(status)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if status in BODYLESS:
        body = b""
    else:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def answer(status: int, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Plan:
    """A plain answer, sent at once; its default body names the status."""
    text = reason(status).encode() if body is None else body
    return Plan(label=str(status), status=status, data=response(status, text, headers))
