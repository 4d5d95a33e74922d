"""Prune what has been kept long enough."""

from django.utils import timezone

from inbox import signs
from inbox.prune import Pruned, prune

BUDGET_SECONDS = 30.0
"""Short, so that the upkeep queue stays free; the next run goes on."""


def sweep(budget_seconds: float = BUDGET_SECONDS) -> Pruned:
    """One budget's worth, by the configured retention."""
    pruned = prune(now=timezone.now(), budget_seconds=budget_seconds)
    signs.note("old")
    return pruned
