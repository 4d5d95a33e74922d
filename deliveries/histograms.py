"""Counts by bucket: how rollups keep attempts, failures and latencies, and what can be read from them. Pure."""

from collections.abc import Sequence
from typing import Final

from deliveries.outcomes import Kind

ATTEMPT_MS: Final = (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000)
"""Upper bounds of the latency of one attempt, in milliseconds; one more bucket holds the rest."""

END_TO_END_MS: Final = (
    *(10, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000),
    *(60_000, 300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000),
)
"""The same from recording an event to its acknowledgement by the endpoint."""

ATTEMPT_NUMBERS: Final = (1, 2, 3, 5, 10)
"""Highest attempt number of each bucket of deliveries that succeeded; one more holds the rest."""

FAILURE_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.DELIVERED)
"""What each bucket of failed attempts holds, in this order. New kinds are added at the end only."""


def add(one: Sequence[int], other: Sequence[int]) -> list[int]:
    """Counts of both, bucket by bucket; a shorter one lacks the newer buckets at its end."""
    length = max(len(one), len(other))
    padded = [[*counts, *[0] * (length - len(counts))] for counts in (one, other)]
    return [a + b for a, b in zip(*padded, strict=True)]


def percentile(counts: Sequence[int], bounds: Sequence[float], share: float) -> float | None:
    """The value below which `share` (0 to 1) of what was counted lies; None without any.

    Linear within a bucket, as Prometheus' histogram_quantile; what lies beyond the last bound is given as that bound.
    """
    total = sum(counts)
    if not total:
        return None
    rank, seen = share * total, 0
    for index, count in enumerate(counts):
        if count and seen + count >= rank:
            if index >= len(bounds):
                break
            low = bounds[index - 1] if index else 0.0
            return low + (bounds[index] - low) * (rank - seen) / count
        seen += count
    return float(bounds[-1])


def attempt_names() -> list[str]:
    """What the buckets of ATTEMPT_NUMBERS are called: "1", "2", "3", "4-5", "6-10", "more"."""
    lows = [1, *(bound + 1 for bound in ATTEMPT_NUMBERS)]
    names = [str(high) if low == high else f"{low}-{high}" for low, high in zip(lows, ATTEMPT_NUMBERS, strict=False)]
    return [*names, "more"]


def by_kind(failed: Sequence[int]) -> dict[Kind, int]:
    """Failed attempts by class, those that occurred."""
    return {kind: count for kind, count in zip(FAILURE_KINDS, failed, strict=False) if count}
