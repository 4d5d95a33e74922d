"""The answer of a receiver: its status, the few headers that matter, and no more of its body than is wanted."""

import http.client
from collections.abc import Callable
from http import HTTPStatus
from http.client import HTTPException

# No body follows these whatever their headers say (RFC 9112, section 6.3); a receiver that sends one all the same
# leaves it on the connection, where it would be taken for the next answer.
_BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
_PIECE_BYTES = 8192


class Answer(http.client.HTTPResponse):
    """An HTTP answer, read raw: no decoding, so nothing can inflate."""

    on_done: Callable[..., None] | None = None
    """Called once with `usable`: whether the connection can carry the next request."""

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

    def _read_status(self) -> tuple[str, int, str]:
        # The standard library skips 100 (Continue) only; 102 and 103 (Early Hints) also precede the real answer.
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if not HTTPStatus.SWITCHING_PROTOCOLS < status < HTTPStatus.OK:
                return version, status, reason
            http.client.parse_headers(self.fp)


def clean_text(raw: bytes) -> str:
    """Bytes of unknown origin as text a database and a page can hold; PostgreSQL refuses NUL in text."""
    return raw.decode("utf-8", "replace").replace("\0", "")
