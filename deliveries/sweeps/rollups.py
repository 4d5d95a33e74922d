"""Fold old minutes into hours and delete old hours."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils import timezone

from deliveries.conf import conf
from deliveries.transitions.close import close_minutes
from deliveries.transitions.fold import delete_hours, fold_hour
from deliveries.watch import heartbeats

HOURS_PER_SWEEP: Final = 24


@dataclass(slots=True)
class RollupsSwept:
    """Minutes folded into hours, and hours deleted."""

    folded: int = 0
    deleted: int = 0


def sweep() -> RollupsSwept:
    """Fold up to a day's worth an hour at a time, then delete what is older than it is kept."""
    now, swept = timezone.now(), RollupsSwept()
    # What is not in the totals yet is not folded.
    close_minutes()
    for _ in range(HOURS_PER_SWEEP):
        with transaction.atomic():
            count = fold_hour(now - timedelta(days=conf().minute_rollup_days))
        swept.folded += count
        if not count:
            break
    swept.deleted = delete_hours(now - timedelta(days=conf().hour_rollup_days))
    heartbeats.note("rollups")
    return swept
