"""The last rites of deliveries that die with no worker holding them: lapsed, expired, or of an archived endpoint."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from deliveries.conf import conf
from deliveries.recipients import Recipient, load_recipients
from deliveries.transitions.bury import Burial, bury


@dataclass(frozen=True, slots=True)
class Orphan:
    """A delivery that the current transaction just moved to dead, with what its dead letter must say."""

    delivery_id: int
    endpoint_id: int
    event_id: str
    url: str
    failure_class: str
    reason: str


def bury_orphans(orphans: Sequence[Orphan]) -> list[int]:
    """Write their dead letters, each with the request as it would be made now; returns the dead letters' ids."""
    if not orphans:
        return []
    # An endpoint whose encryption key is missing is not among them: it must not keep a dead delivery from being buried.
    recipients = load_recipients({orphan.endpoint_id for orphan in orphans}, timezone.now())
    return bury([_burial(orphan, recipients.get(orphan.endpoint_id)) for orphan in orphans])


def _burial(orphan: Orphan, recipient: Recipient | None) -> Burial:
    return Burial(
        delivery_id=orphan.delivery_id,
        failure_class=orphan.failure_class,
        reason=orphan.reason,
        url=orphan.url,
        headers=recipient.shown_headers(orphan.event_id) if recipient else _bare_headers(orphan.event_id),
    )


def _bare_headers(event_id: str) -> dict[str, str]:
    return {"content-type": "application/json", "user-agent": conf().user_agent, "webhook-id": event_id}
