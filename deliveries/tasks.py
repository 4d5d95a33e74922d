"""Celery's doorbells: ids in, one call into a verb."""

from collections.abc import Sequence
from typing import Any

from celery import Task, shared_task
from celery.signals import worker_shutting_down

from deliveries.deliver import deliver as deliver_endpoints
from deliveries.drain import sending


@shared_task(bind=True, name="deliveries.deliver", max_retries=None)
def deliver(self: Task, endpoint_ids: Sequence[int]) -> None:
    """Send what is due for these endpoints, and come back when the next of them is."""
    waits = deliver_endpoints(endpoint_ids)
    if waits:
        raise self.retry(args=[sorted(waits)], countdown=max(1.0, min(waits.values())))


@worker_shutting_down.connect
def _stop_sending(**_kwargs: Any) -> None:
    """Drains hand back what they have not sent, so that a graceful stop takes no longer than the requests in flight."""
    sending.stopping.set()
