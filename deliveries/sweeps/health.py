"""Judge every endpoint's last hour, act on what changed, and archive what stayed disabled for long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from deliveries.conf import conf
from deliveries.models import NoticeKind
from deliveries.notices import standing, wording
from deliveries.notices.about import about
from deliveries.transitions import verdicts
from deliveries.watch import heartbeats
from deliveries.watch.clock import database_now
from deliveries.watch.last_error import last_error
from deliveries.watch.records import Recorded, records
from endpoints import availability
from endpoints.health import RULE, Level, Verdict, is_auth_spike, is_our_fault, judge
from endpoints.models import Endpoint, State

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
    _tell_about_us(ours, swept, now)
    _tell_auth_spikes(looked, now)
    swept.archived = _archive(now)
    heartbeats.note("health")
    return swept


def _act(each: Recorded, verdict: Verdict, now: datetime, swept: HealthSwept) -> None:
    if verdict.level is Level.FAILING:
        swept.disabled += _disable(each, verdict, now)
    elif verdict.level is Level.WARNING:
        swept.warned += _warn(each, verdict, now)
    else:
        swept.recovered += _recover(each, verdict, now)


def _warn(each: Recorded, verdict: Verdict, now: datetime) -> bool:
    with transaction.atomic():
        facts = about(each.endpoint_id)
        moved = verdicts.move(each.endpoint_id, each.before, Level.WARNING, now, error=facts.last_error)
        return moved and standing.tell(wording.warning(facts, verdict.reason), now)


def _recover(each: Recorded, verdict: Verdict, now: datetime) -> bool:
    """Whether somebody was warned, and now hears that it is over."""
    with transaction.atomic():
        if not verdicts.move(each.endpoint_id, each.before, Level.HEALTHY, now):
            return False
        was_told = standing.end([standing.endpoint_subject(NoticeKind.WARNING, each.endpoint_id)], now)
        return bool(was_told) and standing.tell(wording.recovered(about(each.endpoint_id), verdict.reason), now)


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


def _tell_about_us(ours: bool, swept: HealthSwept, now: datetime) -> None:
    if ours:
        standing.tell(wording.unreachable(swept.spared, swept.judged), now)
    else:
        standing.end([NoticeKind.UNREACHABLE], now)


def _tell_auth_spikes(looked: Sequence[tuple[Recorded, Verdict]], now: datetime) -> None:
    """Tell of endpoints that are well but for refused credentials; a warning says as much of the others."""
    told = standing.standing(NoticeKind.AUTH_SPIKE)
    for each, verdict in looked:
        subject = standing.endpoint_subject(NoticeKind.AUTH_SPIKE, each.endpoint_id)
        if subject in told:
            if not each.record.recently_failed.get("auth"):
                standing.end([subject], now)
        elif verdict.level in (Level.HEALTHY, Level.UNKNOWN) and is_auth_spike(each.record, each.thresholds):
            standing.tell(wording.auth_spike(about(each.endpoint_id), _refused(each)), now)


def _refused(each: Recorded) -> str:
    count, minutes = each.record.recently_failed["auth"], each.thresholds.silent_minutes
    return f"{count:,} attempts in the last {minutes:g} minutes were answered 401 or 403."


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
