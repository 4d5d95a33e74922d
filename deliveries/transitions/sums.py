"""The columns of rollups and totals, and SQL that adds them up."""

from typing import Final

from deliveries.histograms import ATTEMPT_MS, ATTEMPT_NUMBERS, END_TO_END_MS, FAILURE_KINDS

SERIES: Final = ("delivered_by_number", "failed_by_kind", "attempt_ms", "end_to_end_ms")
SUMS: Final = ("attempts", "delivered", "retries", "attempt_ms_total", "end_to_end_ms_total")
"""Columns that hold counts by bucket, and those that hold one number."""

BUCKETS: Final = {
    "delivered_by_number": len(ATTEMPT_NUMBERS) + 1,
    "failed_by_kind": len(FAILURE_KINDS),
    "attempt_ms": len(ATTEMPT_MS) + 1,
    "end_to_end_ms": len(END_TO_END_MS) + 1,
}
"""How many counts each series of a rollup holds."""


def summed(column: str, condition: str = "") -> str:
    """SQL that adds up a series of counts bucket by bucket, over the rows that fulfil a condition or over all.

    Adding elements one by one takes a tenth of the time of an aggregate over arrays. A row written before a bucket
    existed lacks it.
    """
    places = range(1, BUCKETS[column] + 1)
    narrowed = f" FILTER (WHERE {condition})" if condition else ""
    sums = (f"coalesce(sum({column}[{place}]){narrowed}, 0)" for place in places)
    return f"ARRAY[{', '.join(sums)}]::bigint[]"


SUMMED: Final = ", ".join(
    [
        *(f"coalesce(sum({name}), 0)::bigint AS {name}" for name in SUMS),
        *(f"{summed(name)} AS {name}" for name in SERIES),
    ]
)
"""Every column of a rollup, added up."""
