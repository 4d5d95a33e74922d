"""What heals with time, at once: a test need not wait for leases, bells and circuits that others test."""

from django.utils import timezone

from deliveries import dispatch as deliveries_dispatch
from deliveries.models import Delivery
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from deliveries.sweeps import lapsed as lapsed_deliveries
from endpoints.models import Endpoint
from inbox import dispatch
from inbox.models import ReceivedEvent, Source
from inbox.sweeps import due, lapsed


def take_back_deliveries(endpoint: Endpoint) -> None:
    """Of a dead worker; and an endpoint that was away is believed to be back."""
    Delivery.objects.filter(endpoint=endpoint, status="sending").update(lease_expires_at=timezone.now())
    lapsed_deliveries.sweep()
    Delivery.objects.filter(endpoint=endpoint, status="pending").update(next_attempt_at=timezone.now())
    redis_client().delete(*keys(endpoint.pk, "lease", "bell", "timer", "flow"))
    deliveries_dispatch.wake([endpoint.pk])


def take_back_received(source: Source) -> None:
    """Of a dead worker of the inbox."""
    source.events.filter(status="processing").update(lease_expires_at=timezone.now())
    lapsed.sweep()
    ReceivedEvent.objects.filter(source=source, status="received").update(next_attempt_at=timezone.now())
    dispatch.silence(source.pk)
    due.sweep()
