"""Judge every endpoint's last hour, act on what changed, and archive what stayed disabled for long."""

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from deliveries.conf import conf
from deliveries.transitions import verdicts
from deliveries.watch import heartbeats
from deliveries.watch.clock import database_now
from deliveries.watch.last_error import last_error
from deliveries.watch.records import Recorded, records
from endpoints import availability
from endpoints.health import Level, Verdict, is_our_fault, judge
from endpoints.models import Endpoint, State

logger = logging.getLogger(__name__)

RULE: Final = "rule: health"
ARCHIVE_RULE: Final = "rule: disabled for long"

ARCHIVED_PER_SWEEP: Final = 100


@dataclass(slots=True)
class HealthSwept:
    """Endpoints judged, and what became of them."""

    judged: int = 0
    warned: int = 0
    recovered: int = 0
    disabled: int = 0
    spared: int = 0
    archived: int = 0


def sweep(now: datetime | None = None) -> HealthSwept:
    """Look once. `now` (aware) is for tests; by default it is the database's."""
    now = now or database_now()
    looked = [(each, judge(each.record, each.thresholds, each.before)) for each in records(now)]
    verdicts.keep((verdicts.Seen(each.endpoint_id, verdict, each.last_success_at) for each, verdict in looked), now)
    swept = HealthSwept(judged=len(looked))
    ours = is_our_fault((each.record, verdict) for each, verdict in looked)
    for each, verdict in looked:
        if verdict.level is Level.FAILING and ours:
            # Nothing is learned about an endpoint that we cannot reach because we reach nobody.
            swept.spared += 1
        elif verdict.level not in (Level.UNKNOWN, each.before):
            _act(each, verdict, now, swept)
    swept.archived = _archive(now)
    heartbeats.note("health")
    return swept


def _act(each: Recorded, verdict: Verdict, now: datetime, swept: HealthSwept) -> None:
    if verdict.level is Level.FAILING:
        swept.disabled += _disable(each, verdict, now)
    elif verdict.level is Level.WARNING:
        swept.warned += verdicts.move(
            each.endpoint_id, each.before, Level.WARNING, now, error=last_error(each.endpoint_id)
        )
    elif verdicts.move(each.endpoint_id, each.before, Level.HEALTHY, now):
        swept.recovered += each.before is not Level.UNKNOWN


def _disable(each: Recorded, verdict: Verdict, now: datetime) -> bool:
    with transaction.atomic():
        unmoved = Endpoint.objects.filter(
            pk=each.endpoint_id, state=State.ACTIVE, state_changed_at=each.state_changed_at
        )
        # Somebody paused, re-enabled or deleted it since we looked: what was judged is not what it is now.
        if not unmoved.select_for_update().exists():
            return False
        error = last_error(each.endpoint_id)
        if not verdicts.move(each.endpoint_id, each.before, Level.FAILING, now, error=error):
            return False
        availability.disable(each.endpoint_id, actor=RULE, reason=verdict.reason)
    return True


def _archive(now: datetime) -> int:
    """Archive, one by one, what has been disabled for as long as the settings allow."""
    days = conf().archive_after_days
    before = now - timedelta(days=days)
    old = Endpoint.objects.filter(state=State.DISABLED, state_changed_at__lt=before)
    archived = 0
    for id in old.order_by("state_changed_at").values_list("pk", flat=True)[:ARCHIVED_PER_SWEEP]:
        with transaction.atomic():
            # Under the lock, so that an endpoint enabled at this moment is not taken away from its owner.
            if old.select_for_update().filter(pk=id).exists():
                availability.archive(id, actor=ARCHIVE_RULE, reason=f"It has been disabled for {days:g} days.")
                archived += 1
    return archived
