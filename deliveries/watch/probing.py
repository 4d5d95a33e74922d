"""When a disabled endpoint is tried next, for people."""

from dataclasses import dataclass
from datetime import datetime

from deliveries.conf import conf
from deliveries.models import Delivery, EndpointProbe
from deliveries.statuses import Status
from endpoints.health import RULE
from endpoints.models import Endpoint, State


@dataclass(frozen=True, slots=True)
class Probing:
    """The next probe of an endpoint that its health disabled. `next_at` is None when none is to come by itself."""

    next_at: datetime | None
    tries: int
    sentence: str


def probing_of(endpoint: Endpoint) -> Probing | None:
    """What is known of its probes; None for an endpoint that the rule has not disabled."""
    if endpoint.state != State.DISABLED or endpoint.state_changed_by != RULE:
        return None
    if not conf().thresholds.overridden(endpoint.health_thresholds).probe_minutes:
        return Probing(None, 0, "It is not tried again by itself: probing is off.")
    found = EndpointProbe.objects.filter(endpoint=endpoint, disabled_at=endpoint.state_changed_at).first()
    if found is None:
        return Probing(None, 0, "The next sweep says when it is tried again.")
    tried = f"Tried {found.tries} time{'' if found.tries == 1 else 's'} so far." if found.tries else ""
    past = f" {tried} {found.said}".rstrip() if tried or found.said else ""
    if found.next_at is None:
        return Probing(None, found.tries, f"It is not tried again by itself.{past}")
    when = f"{found.next_at:%Y-%m-%d %H:%M} UTC"
    if not Delivery.objects.filter(endpoint=endpoint, status=Status.PENDING).exists():
        return Probing(found.next_at, found.tries, f"With the next event, not before {when}: it holds none.{past}")
    return Probing(found.next_at, found.tries, f"One delivery is tried at {when} or soon after.{past}")
