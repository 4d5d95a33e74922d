"""Warn owners of TLS certificates that end soon, once, and take the warning back when one was renewed."""

from dataclasses import dataclass
from datetime import datetime

from deliveries.models import NoticeKind
from deliveries.notices import standing, wording
from deliveries.notices.about import about
from deliveries.watch import heartbeats
from deliveries.watch.certificates import ending_certificates
from deliveries.watch.clock import database_now
from endpoints.models import Endpoint


@dataclass(frozen=True, slots=True)
class CertificatesSwept:
    """Certificates that end soon, the owners told now, and the warnings that are over."""

    ending: int
    told: int
    ended: int


def sweep(now: datetime | None = None) -> CertificatesSwept:
    """Look once. `now` (aware) is for tests; by default it is the database's."""
    now = now or database_now()
    known = standing.standing(NoticeKind.CERTIFICATE)
    ending = {
        standing.endpoint_subject(NoticeKind.CERTIFICATE, each.endpoint_id): each for each in ending_certificates(now)
    }
    ended = standing.end(known - set(ending), now)
    told = 0
    for subject, each in ending.items():
        if each.is_news and subject not in known:
            told += _tell(each.endpoint_id, each.ends_at, each.seen_at, now)
    heartbeats.note("certificates")
    return CertificatesSwept(len(ending), told, ended)


def _tell(endpoint_id: int, ends_at: datetime, seen_at: datetime, now: datetime) -> bool:
    try:
        facts = about(endpoint_id)
    except Endpoint.DoesNotExist:
        # Deleted at this moment.
        return False
    return standing.tell(wording.certificate(facts, ends_at, seen_at, now), now)
