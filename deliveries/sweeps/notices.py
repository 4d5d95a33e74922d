"""Send notices that wait, and delete those that are old."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from deliveries.conf import conf
from deliveries.models import Notice
from deliveries.notices.sending import send_waiting
from deliveries.watch import heartbeats
from deliveries.watch.clock import database_now


@dataclass(frozen=True, slots=True)
class NoticesSwept:
    """Notices that every channel has now, and notices deleted."""

    sent: int
    deleted: int


def sweep(now: datetime | None = None) -> NoticesSwept:
    """Send once. `now` (aware) is for tests; by default it is the database's."""
    now = now or database_now()
    sent = send_waiting(now)
    old = Notice.objects.filter(created_at__lt=now - timedelta(days=conf().dead_letter_days))
    deleted, _ = old.exclude(done_at=None).exclude(ended_at=None).delete()
    heartbeats.note("notices")
    return NoticesSwept(sent, deleted)
