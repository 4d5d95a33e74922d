"""Bytes of a connection in, whole HTTP/1.1 requests out (pure; RFC 9112, only what webhooks need).

Written by hand because the receiver must cost its sender's bench next to nothing. Bodies need a Content-Length;
chunked ones are refused, as some real receivers do.
"""

from dataclasses import dataclass
from sys import intern

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024


class Malformed(ValueError):
    """The bytes are not a request this receiver reads; ``status`` is the answer that says so."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Head:
    """Request line and headers; header names in lower case, repeated ones joined with a comma."""

    method: str
    target: str
    headers: dict[str, str]
    content_length: int
    keep_alive: bool


@dataclass(slots=True)
class Request:
    """One whole request."""

    head: Head
    body: bytes


def parse_headers(lines: list[str]) -> dict[str, str]:
    """Header lines as a dict; raises Malformed for a line without a name and a colon."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name[0] in " \t" or name[-1] in " \t":
            raise Malformed("a header line is not 'name: value'")
        key = intern(name.lower())
        value = value.strip(" \t")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


def parse_head(raw: bytes) -> Head:
    """Everything before the blank line; raises Malformed."""
    request_line, *lines = raw.decode("latin-1").split("\r\n")
    try:
        method, target, version = request_line.split(" ")
    except ValueError:
        raise Malformed("the request line is not 'METHOD target HTTP/1.x'") from None
    if not version.startswith("HTTP/1."):
        raise Malformed("only HTTP/1.x is spoken here", 505)
    headers = parse_headers(lines)
    if "transfer-encoding" in headers:
        raise Malformed("a body needs a Content-Length", 411)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise Malformed("Content-Length is not one whole number")
    if int(length) > MAX_BODY_BYTES:
        raise Malformed("the body is too large", 413)
    wish = headers.get("connection", "").lower()
    keep_alive = wish != "close" if version != "HTTP/1.0" else wish == "keep-alive"
    return Head(method, target, headers, int(length), keep_alive)


class RequestReader:
    """Collects the bytes of one connection and gives out its requests in order, pipelined or in crumbs."""

    __slots__ = ("_buffer", "_head")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: Head | None = None

    def feed(self, data: bytes) -> None:
        """Add bytes as they came from the socket."""
        self._buffer += data

    @property
    def mid_request(self) -> bool:
        """Whether a request has begun and not ended: if the peer leaves now, it was cut short."""
        return self._head is not None or bool(self._buffer)

    def next(self) -> Request | None:
        """The next whole request, or None while its bytes are missing; raises Malformed."""
        head = self._head or self._take_head()
        if head is None:
            return None
        length = head.content_length
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._head = None
        return Request(head, body)

    def _take_head(self) -> Head | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise Malformed("the headers are too large", 431)
            return None
        self._head = parse_head(bytes(self._buffer[:end]))
        del self._buffer[: end + 4]
        return self._head
