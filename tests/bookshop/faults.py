"""What may happen to a receiver's answer: lost, or replaced by an error, before or after the event was stored.

A request asks for it by its header, whose value is the share of requests it happens to. As every attempt is signed
anew, the next one of the same event has another fate.
"""

import socket
from collections.abc import Callable
from zlib import crc32

from django.http import HttpRequest, HttpResponse

SHARE_HEADER = "x-fault-share"

Answerer = Callable[[HttpRequest], HttpResponse]


class Faults:
    """Middleware around the door."""

    def __init__(self, get_response: Answerer) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        fault = self._fault_of(request)
        return fault(request) if fault else self._get_response(request)

    def _fault_of(self, request: HttpRequest) -> Answerer | None:
        number = crc32(request.headers.get("webhook-signature", "").encode())
        if number % 1000 >= float(request.headers.get(SHARE_HEADER, 0)) * 1000:
            return None
        return (self._fail_before, self._fail_after, self._lose_answer)[number // 1000 % 3]

    def _fail_before(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(status=500)

    def _fail_after(self, request: HttpRequest) -> HttpResponse:
        self._get_response(request)
        return HttpResponse(status=500)

    def _lose_answer(self, request: HttpRequest) -> HttpResponse:
        response = self._get_response(request)
        request.META["gunicorn.socket"].shutdown(socket.SHUT_RDWR)
        return response
