"""Delete what has been kept long enough."""

from typing import Final

from django.utils import timezone

from deliveries.prune import Pruned, Retention, prune
from deliveries.watch import heartbeats

BUDGET_SECONDS: Final = 30.0
"""Short, so that the upkeep queue stays free; the next run goes on."""


def sweep() -> Pruned:
    """One budget's worth, by the configured retention."""
    pruned = prune(Retention.configured(), now=timezone.now(), budget_seconds=BUDGET_SECONDS)
    heartbeats.note("old")
    return pruned
