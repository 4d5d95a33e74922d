"""One Celery task a delivery, as most people write it: the ORM in, `requests.Session.post`, the ORM out.

Nothing holds it back: Holdfast's own Celery settings, kept database connections, a session with kept HTTP connections
for each thread, one query for what to send, one transaction for what came of it, signing secrets read once a process.
"""

import os
import threading
import time
from functools import lru_cache

import django
import requests
from celery import Celery
from django.db import transaction
from django.utils import timezone
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")
django.setup()

from deliveries.models import Attempt, Delivery  # noqa: E402
from deliveries.statuses import Status  # noqa: E402
from endpoints.models import SigningSecret  # noqa: E402
from endpoints.signing import sign  # noqa: E402

QUEUE, ASIDE = "naive", "naive.aside"
SNIPPET_CHARACTERS = 2048

# Not the current app: in the bench's own process that is Holdfast's.
app = Celery("naive", set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [
    Queue(name, exchange=Exchange("holdfast", type="direct"), routing_key=name) for name in (QUEUE, ASIDE)
]

_local = threading.local()


@app.task(name="naive.deliver")
def deliver(delivery_id: int) -> None:
    """Send one delivery and record what came of it."""
    delivery = Delivery.objects.select_related("event", "endpoint").get(pk=delivery_id)
    if delivery.status != Status.PENDING:
        return
    started_at, begun = timezone.now(), time.monotonic()
    response = _post(delivery, int(started_at.timestamp()))
    response.raise_for_status()
    attempt = Attempt(
        delivery=delivery,
        number=delivery.attempt_count + 1,
        started_at=started_at,
        duration_ms=round((time.monotonic() - begun) * 1000),
        outcome="delivered",
        status_code=response.status_code,
        host=delivery.endpoint.host,
        snippet=response.text[:SNIPPET_CHARACTERS],
    )
    _record(delivery, attempt)


def _post(delivery: Delivery, timestamp: int) -> requests.Response:
    body = delivery.event.body.encode()
    headers = {
        "content-type": "application/json",
        "user-agent": "Naive/1.0",
        "webhook-id": delivery.event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(_secrets(delivery.endpoint_id), delivery.event_id, timestamp, body),
    }
    endpoint = delivery.endpoint
    return _session().post(
        endpoint.url, data=body, headers=headers, timeout=endpoint.timeout_seconds, allow_redirects=False
    )


def _record(delivery: Delivery, attempt: Attempt) -> None:
    delivery.status = Status.DELIVERED
    delivery.last_outcome = attempt.outcome
    delivery.attempt_count = attempt.number
    delivery.next_attempt_at = None
    delivery.finished_at = timezone.now()
    with transaction.atomic():
        attempt.save(force_insert=True)
        delivery.save(update_fields=["status", "last_outcome", "attempt_count", "next_attempt_at", "finished_at"])


def _session() -> requests.Session:
    if not hasattr(_local, "session"):
        _local.session = requests.Session()
        # Else it looks for proxies and a netrc before every request.
        _local.session.trust_env = False
    session: requests.Session = _local.session
    return session


@lru_cache
def _secrets(endpoint_id: int) -> tuple[str, ...]:
    return tuple(row.secret for row in SigningSecret.objects.filter(endpoint_id=endpoint_id))
