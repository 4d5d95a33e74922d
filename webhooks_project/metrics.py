"""The metrics URL: what Prometheus scrapes, of every app, from any web process alike."""

import secrets
from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from deliveries.metrics import DeliveriesCollector
from inbox.metrics import InboxCollector

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

COLLECTORS: Final[Sequence[type[Collector]]] = (DeliveriesCollector, InboxCollector)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics in the text format of Prometheus, for whoever has the token.

    `settings.HOLDFAST_METRICS_TOKEN` is expected as `Authorization: Bearer …`. Without one set, the URL is open in
    development and closed in production: figures of a business are not for everybody.
    """
    if refusal := _refusal(request):
        return refusal
    registry = CollectorRegistry()
    for collector in COLLECTORS:
        registry.register(collector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE)


def _refusal(request: HttpRequest) -> HttpResponse | None:
    token: str = settings.HOLDFAST_METRICS_TOKEN
    if not token:
        if settings.DEBUG:
            return None
        return HttpResponse("Closed: HOLDFAST_METRICS_TOKEN is not set.\n", status=403, content_type="text/plain")
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secrets.compare_digest(given.strip().encode(), token.encode()):
        return None
    answer = HttpResponse("The bearer token is missing or wrong.\n", status=401, content_type="text/plain")
    answer["WWW-Authenticate"] = "Bearer"
    return answer
