"""The answer of a receiver: its status, the few headers that matter, and no more of its body than is wanted."""

import http.client
import re
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException
from typing import BinaryIO

# No body follows these whatever their headers say (RFC 9112, section 6.3); a receiver that sends one all the same
# leaves it on the connection, where it would be taken for the next answer.
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_LENGTH = re.compile(r"[0-9]{1,18}")
_PIECE_BYTES = 8192
MAX_HEADER_CHARACTERS = 2048
"""The longest header value passed on; as long as the longest URL of an endpoint, for Location."""
# The limits of http.client.
_MAX_LINE_BYTES = 65536
_MAX_HEADER_LINES = 100
_END_OF_HEADERS = frozenset({b"\r\n", b"\n", b""})


class Answer(http.client.HTTPResponse):
    """An HTTP answer, read raw: no decoding, so nothing can inflate."""

    headers: dict[str, str]  # type: ignore[assignment]
    on_done: Callable[..., None] | None = None
    """Called once with `usable`: whether the connection can carry the next request."""

    def begin(self) -> None:
        """Read status and headers, and settle how the body ends. Raises HTTPException and OSError.

        The standard library's own method gives the headers to the e-mail parser, which takes a third of the CPU time of
        a whole request.
        """
        version, self.status, self.reason = self._read_status()
        self.code = self.status
        self.version = 10 if version in {"HTTP/1.0", "HTTP/0.9"} else 11
        self.headers = {}
        try:
            read_headers(self.fp, self.headers)
        except (OSError, HTTPException):
            # The status is known, and it decides; nothing more is wanted from this connection.
            self.headers.pop("transfer-encoding", None)
            self.headers |= {"connection": "close", "content-length": "0"}
        self.chunked = self.headers.get("transfer-encoding", "").lower() == "chunked"
        self.chunk_left = None
        self.length = self._body_length()
        self.will_close = self._check_close() or (self.length is None and not self.chunked)  # type: ignore[attr-defined]

    def read_some(self, max_bytes: int, kept_bytes: int) -> bytes:
        """Read at most `max_bytes` of the body and return its first `kept_bytes`.

        The status is known and decides, so whatever goes wrong here only ends the reading.
        """
        kept = bytearray()
        seen = 0
        try:
            while seen < max_bytes and self.length != 0:
                piece = self.read1(min(_PIECE_BYTES, max_bytes - seen))
                if not piece:
                    break
                seen += len(piece)
                kept += piece[: max(0, kept_bytes - len(kept))]
        except (OSError, HTTPException, ValueError):
            # What is left on the connection is of no use.
            self.will_close = True
        return bytes(kept)

    def done(self) -> None:
        """Let go of the connection: kept when the answer was read to its end, closed otherwise."""
        usable = self._leaves_connection_usable
        self.close()
        if self.on_done is not None:
            self.on_done(usable=usable)
            self.on_done = None

    @property
    def _leaves_connection_usable(self) -> bool:
        # Then, and only then, the next bytes on the connection are the next answer's.
        if self.will_close or (self.status in _BODILESS and self._announces_body()):
            return False
        if self.chunked:
            return self.isclosed()
        return self.length == 0 and "transfer-encoding" not in self.headers

    def _announces_body(self) -> bool:
        return self.headers.get("content-length", "0") != "0" or "transfer-encoding" in self.headers

    def _body_length(self) -> int | None:
        """RFC 9112, section 6.3; None when the end of the connection, or of the chunks, ends the body."""
        if self.status in _BODILESS:
            return 0
        announced = self.headers.get("content-length", "")
        if self.chunked or not _LENGTH.fullmatch(announced):
            return None
        return int(announced)

    def _read_status(self) -> tuple[str, int, str]:
        # 100 (Continue), 102 and 103 (Early Hints) precede the real answer; after 101 there is none.
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status >= HTTPStatus.OK or status == HTTPStatus.SWITCHING_PROTOCOLS:
                return version, status, reason
            read_headers(self.fp, {})


def read_headers(lines: BinaryIO, headers: dict[str, str]) -> None:
    """Fill in the header fields up to the empty line: names in lower case, of a repeated one the first.

    Raises HTTPException for lines too long or too many, OSError for what the connection does.
    """
    name = ""
    for _ in range(_MAX_HEADER_LINES):
        line = lines.readline(_MAX_LINE_BYTES + 1)
        if len(line) > _MAX_LINE_BYTES:
            raise http.client.LineTooLong("header line")
        if line in _END_OF_HEADERS:
            return
        text = line.decode("latin-1")
        if text[0] in " \t":
            # Obsolete line folding (RFC 9112, section 5.2).
            headers[name] = f"{headers.get(name, '')} {text.strip()}"
            continue
        name, _colon, value = text.partition(":")
        name = name.strip().lower()
        headers.setdefault(name, value.strip())
    raise HTTPException("too many header lines")


def clean_text(raw: bytes) -> str:
    """Bytes of unknown origin as text a database can hold: PostgreSQL refuses NUL."""
    return raw.decode("utf-8", "replace").replace("\0", "")


def clean_header(value: str | None) -> str | None:
    """A header value a database can hold, cut to a sane length."""
    return None if value is None else value[:MAX_HEADER_CHARACTERS].replace("\0", "")
