"""The rollup that goes with every recorded result: SQL that counts a batch into the current minute of each endpoint."""

from collections.abc import Sequence
from typing import Final

from deliveries.histograms import ATTEMPT_MS, ATTEMPT_NUMBERS, END_TO_END_MS, FAILURE_KINDS
from deliveries.transitions.sums import SERIES, SUMS


def _buckets(value: str, bounds: Sequence[int], condition: str = "true") -> str:
    """An array of counts: how many rows fulfil the condition with a value up to each bound, and beyond the last."""
    edges = [*bounds, None]
    counts = []
    for low, high in zip([None, *bounds], edges, strict=True):
        limits = [f"{value} > {low}"] if low is not None else []
        limits += [f"{value} <= {high}"] if high is not None else []
        counts.append(f"count(*) FILTER (WHERE {' AND '.join([condition, *limits])})")
    return f"ARRAY[{', '.join(counts)}]::int[]"


def _kinds() -> str:
    counts = ", ".join(f"count(*) FILTER (WHERE outcome = '{kind}')" for kind in FAILURE_KINDS)
    return f"ARRAY[{counts}]::int[]"


# Needs `counted_result(endpoint_id, outcome, number, duration_ms, end_to_end_ms)` before it. Only one worker drains an
# endpoint at a time, so nobody waits for the row of the current minute. Ordered, so that two could not deadlock. A
# database whose clock was set back would make a sum smaller: no event arrives before it was recorded.
COUNT: Final = f"""
INSERT INTO deliveries_endpointspan AS span (endpoint_id, minutes, starts_at, attempts, delivered, delivered_by_number,
                                             failed_by_kind, attempt_ms, end_to_end_ms, retries, attempt_ms_total,
                                             end_to_end_ms_total)
SELECT endpoint_id, 1, date_trunc('minute', now()), count(*), count(*) FILTER (WHERE outcome = 'delivered'),
       {_buckets("number", ATTEMPT_NUMBERS, "outcome = 'delivered'")},
       {_kinds()},
       {_buckets("duration_ms", ATTEMPT_MS)},
       {_buckets("end_to_end_ms", END_TO_END_MS, "outcome = 'delivered'")},
       count(*) FILTER (WHERE number > 1), sum(duration_ms),
       coalesce(sum(greatest(end_to_end_ms, 0)::bigint) FILTER (WHERE outcome = 'delivered'), 0)
FROM counted_result GROUP BY endpoint_id ORDER BY endpoint_id
ON CONFLICT (endpoint_id, minutes, starts_at) DO UPDATE
SET {", ".join(f"{name} = span.{name} + excluded.{name}" for name in SUMS)},
    {", ".join(f"{name} = holdfast_add_counts(span.{name}, excluded.{name})" for name in SERIES)}
"""  # noqa: S608  # every part is a constant of ours
