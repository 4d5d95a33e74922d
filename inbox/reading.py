"""The body of a request, read up to a cap and not a byte further."""

from io import BytesIO
from typing import IO, Any

from django.http import HttpRequest, UnreadablePostError

CHUNK_BYTES = 64 * 1024


class TooLarge(Exception):
    """The body is larger than the cap; what comes after it was not read."""


class LengthRequired(Exception):
    """The body has no length, and the server does not say where it ends."""


class Unreadable(Exception):
    """The client went away, or sent something that is no body."""


def read_body(request: HttpRequest, cap_bytes: int) -> bytes:
    """The exact bytes of the body. Raises TooLarge (before or at the cap), LengthRequired or Unreadable."""
    declared = _declared_length(request)
    if declared is not None and declared > cap_bytes:
        raise TooLarge
    body = BytesIO()
    left = cap_bytes + 1
    stream = _stream(request, declared)
    while left:
        try:
            chunk = stream.read(min(CHUNK_BYTES, left))
        except (UnreadablePostError, OSError, ValueError) as error:
            raise Unreadable(str(error)) from error
        if not chunk:
            return body.getvalue()
        body.write(chunk)
        left -= len(chunk)
    raise TooLarge


def _declared_length(request: HttpRequest) -> int | None:
    text = request.META.get("CONTENT_LENGTH")
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _stream(request: HttpRequest, declared: int | None) -> IO[bytes] | Any:
    if declared is not None:
        return request
    if "HTTP_TRANSFER_ENCODING" not in request.META:
        return BytesIO()
    # Django takes a request without a length for one without a body. A server that ends the stream itself says so:
    # https://github.com/benoitc/gunicorn (wsgi.input_terminated), as do mod_wsgi and uvicorn.
    if request.META.get("wsgi.input_terminated"):
        return request.META["wsgi.input"]
    raise LengthRequired
