"""TLS certificates of endpoints: which end soon, and what is known of one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from deliveries.conf import conf
from deliveries.models import EndpointCertificate
from endpoints.models import Endpoint

SEEN_WITHIN: Final = timedelta(days=7)
"""Who has not been connected to for longer may have renewed it since: no news is made of that."""

_ENDING: Final = """
SELECT certificate.endpoint_id, certificate.ends_at, certificate.seen_at
FROM deliveries_endpointcertificate certificate
JOIN endpoints_endpoint endpoint ON endpoint.id = certificate.endpoint_id
WHERE endpoint.state <> 'archived' AND endpoint.url LIKE 'https:%%'
  AND certificate.ends_at < %(now)s + make_interval(
      secs => 86400 * coalesce((endpoint.health_thresholds->>'certificate_days')::float8, %(days)s))
  AND coalesce((endpoint.health_thresholds->>'certificate_days')::float8, %(days)s) > 0
ORDER BY certificate.ends_at
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """A certificate that ends within the days of the settings, or of its endpoint. `is_news`: it was seen lately."""

    endpoint_id: int
    ends_at: datetime
    seen_at: datetime
    is_news: bool


def ending_certificates(now: datetime) -> list[Ending]:
    """Of all endpoints that are not archived, the first to end first."""
    with connection.cursor() as cursor:
        cursor.execute(_ENDING, {"now": now, "days": conf().thresholds.certificate_days})
        return [Ending(id, ends, seen, seen >= now - SEEN_WITHIN) for id, ends, seen in cursor.fetchall()]


def certificate_of(endpoint: Endpoint) -> EndpointCertificate | None:
    """The one it was last seen with; None before the first connection, and for an endpoint without TLS."""
    if not endpoint.url.startswith("https:"):
        return None
    return EndpointCertificate.objects.filter(endpoint=endpoint).first()
