"""The health URL: whether work moves, for load balancers and monitors."""

from dataclasses import asdict

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from deliveries.watch.survey import survey


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """200 when work moves, 503 when it does not, with the reasons and figures; no names, no URLs, no payloads.

    Nobody has to sign in, as a probe cannot, so it says no more than how much there is and how old it is.
    """
    found = survey()
    body = {"status": "healthy" if found.is_healthy else "unhealthy", **asdict(found)}
    for worker in body["workers"]:
        del worker["name"]
    return JsonResponse(body, status=200 if found.is_healthy else 503)
