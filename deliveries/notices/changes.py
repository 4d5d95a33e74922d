"""Notices about an endpoint whose state changed, whoever or whatever changed it: written in the same transaction."""

from deliveries.conf import conf
from deliveries.models import NoticeKind
from deliveries.notices import standing, wording
from deliveries.notices.about import about
from endpoints.health import RULE
from endpoints.models import Endpoint, State, StateChange


def tell_change(change: StateChange) -> None:
    """Tell that an endpoint was disabled, comes back from that, or was archived; a pause is its author's own business.

    Trouble told about it before is over: a disabled endpoint is not sent to, an enabled one begins anew.
    """
    id = change.endpoint_id
    kinds = (NoticeKind.WARNING, NoticeKind.AUTH_SPIKE)
    standing.end([standing.endpoint_subject(kind, id) for kind in kinds], change.at)
    reason = f"{change.reason} ({change.actor})"
    if change.to_state == State.DISABLED:
        days = conf().archive_after_days
        standing.tell(wording.disabled(about(id), reason, days, is_probed=_is_probed(change)), change.at)
    elif change.to_state == State.ARCHIVED:
        standing.tell(wording.archived(about(id), reason), change.at)
    elif change.from_state == State.DISABLED:
        standing.tell(wording.enabled(about(id), reason), change.at)


def _is_probed(change: StateChange) -> bool:
    own = Endpoint.objects.values_list("health_thresholds", flat=True).get(pk=change.endpoint_id)
    return change.actor == RULE and conf().thresholds.overridden(own).probe_minutes > 0
