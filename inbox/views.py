"""The door's address. Both spellings lead here; a redirect would make the provider's POST a GET without a body."""

import logging
import time
from typing import Final

from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from inbox.accounts import look_up
from inbox.reading import LengthRequired, TooLarge, Unreadable, read_body
from inbox.receive import Answer, receive, refuse
from inbox.schemes import Request

logger = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 60


# The answer may only go out once the event is committed, so no transaction may span the request.
@method_decorator(csrf_exempt, name="dispatch")
@method_decorator(transaction.non_atomic_requests, name="dispatch")
class Door(View):
    """`POST /inbox/<source>/`; every other method is answered 405."""

    http_method_names = ("post",)

    def post(self, request: HttpRequest, slug: str) -> HttpResponse:
        received_at = time.time()
        try:
            answer = _answer(request, slug, received_at)
        except Error:
            # Nothing is stored, so the provider has to come again; to it, this is no fault of the event.
            logger.exception("the database is away: a request to %s was sent back", slug)
            answer = Answer(503, "unavailable")
        response = HttpResponse(answer.text, status=answer.status, content_type=_content_type(answer))
        if answer.status == 503:
            response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response


def _answer(request: HttpRequest, slug: str, received_at: float) -> Answer:
    account = look_up(slug)
    if account is None:
        return refuse(None, 404, "unknown-source")
    if not account.enabled:
        return refuse(account, 503, "disabled")
    try:
        body = read_body(request, account.cap_bytes)
    except TooLarge:
        return refuse(account, 413, "too-large")
    except LengthRequired:
        return refuse(account, 411, "length-required")
    except Unreadable:
        return refuse(account, 400, "unreadable")
    return receive(account, Request(request.headers, body, request.META.get("CONTENT_TYPE", ""), received_at))


def _content_type(answer: Answer) -> str:
    return "application/json" if answer.text.startswith("{") else "text/plain; charset=utf-8"
