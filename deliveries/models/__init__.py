"""What must arrive: events, deliveries, their attempts, dead letters, and the operations people ran on them."""

from deliveries.models.attempt import Attempt
from deliveries.models.dead_letter import DeadLetter, Resolution
from deliveries.models.delivery import Delivery
from deliveries.models.endpoint_certificate import EndpointCertificate
from deliveries.models.endpoint_health import EndpointHealth
from deliveries.models.endpoint_probe import EndpointProbe
from deliveries.models.endpoint_span import EndpointSpan
from deliveries.models.event import Event
from deliveries.models.notice import Notice, NoticeKind
from deliveries.models.operation import Operation
from deliveries.models.traffic_total import TrafficTotal

__all__ = [
    "Attempt",
    "DeadLetter",
    "Delivery",
    "EndpointCertificate",
    "EndpointHealth",
    "EndpointProbe",
    "EndpointSpan",
    "Event",
    "Notice",
    "NoticeKind",
    "Operation",
    "Resolution",
    "TrafficTotal",
]
