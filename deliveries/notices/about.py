"""The facts of an endpoint that a notice tells."""

from deliveries.models import Delivery, EndpointHealth
from deliveries.notices.wording import About
from deliveries.statuses import Status
from deliveries.watch.last_error import last_error
from endpoints.models import Endpoint

COUNTED = 10_000
"""Counts stop here: a notice is written in the transaction of a state change."""


def about(endpoint_id: int) -> About:
    """Read them. Raises Endpoint.DoesNotExist."""
    endpoint = Endpoint.objects.only("url", "tenant", "owner_email").get(pk=endpoint_id)
    health = EndpointHealth.objects.filter(endpoint_id=endpoint_id).only("last_success_at").first()
    held = Delivery.objects.filter(endpoint_id=endpoint_id, status=Status.PENDING)[: COUNTED + 1].count()
    return About(
        id=endpoint_id,
        host=endpoint.host,
        tenant=endpoint.tenant,
        owner_email=endpoint.owner_email,
        held=f"{COUNTED:,} deliveries or more" if held > COUNTED else f"{held:,} deliver{'y' if held == 1 else 'ies'}",
        last_error=last_error(endpoint_id),
        last_success_at=health.last_success_at if health else None,
    )
