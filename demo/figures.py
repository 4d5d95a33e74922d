"""What the database says: how far every endpoint is, how long it took, and why deliveries died."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count

from deliveries.models import DeadLetter, Delivery, Resolution
from deliveries.statuses import FINAL, Status


@dataclass(slots=True)
class Standing:
    """One endpoint's deliveries. `seconds` are the times from publishing to the final state, ascending."""

    statuses: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    seconds: list[float] = field(default_factory=list)
    deaths: Counter[str] = field(default_factory=Counter)


def count_statuses() -> Counter[str]:
    """How many deliveries are in each state."""
    rows = Delivery.objects.order_by().values_list("status").annotate(Count("pk"))
    return Counter({str(status): count for status, count in rows})


def unfinished(statuses: Counter[str]) -> int:
    """How many deliveries still have something ahead of them."""
    return sum(count for status, count in statuses.items() if status not in FINAL)


def held(endpoint_id: int) -> int:
    """How many deliveries of the endpoint wait."""
    return Delivery.objects.filter(endpoint_id=endpoint_id, status=Status.PENDING).count()


def standings() -> dict[int, Standing]:
    """Every endpoint (by id) that has deliveries."""
    found: dict[int, Standing] = {}
    columns = ("endpoint_id", "status", "attempt_count", "created_at", "finished_at")
    for endpoint_id, status, attempts, created_at, finished_at in Delivery.objects.order_by().values_list(*columns):
        standing = found.setdefault(endpoint_id, Standing())
        standing.statuses[status] += 1
        standing.attempts += attempts
        if finished_at is not None:
            standing.seconds.append((finished_at - created_at).total_seconds())
    for endpoint_id, failure_class in DeadLetter.objects.filter(resolution=Resolution.OPEN).values_list(
        "endpoint_id", "failure_class"
    ):
        found[endpoint_id].deaths[failure_class] += 1
    for standing in found.values():
        standing.seconds.sort()
    return found


def percentile(ascending: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile: the smallest value that `percent` of the values do not exceed; NaN of none."""
    if not ascending:
        return math.nan
    return ascending[max(math.ceil(len(ascending) * percent / 100), 1) - 1]
