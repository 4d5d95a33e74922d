"""Counts by bucket: adding and reading them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deliveries.histograms import ATTEMPT_MS, FAILURE_KINDS, add, by_kind, percentile
from deliveries.outcomes import Kind

BOUNDS = (10, 20, 40)


def test_counts_are_added_bucket_by_bucket_and_a_shorter_one_lacks_the_newer_buckets():
    assert add([1, 2], [10, 20, 30]) == [11, 22, 30]


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ([0, 0, 0, 0], 0.5, None),
        ([10, 0, 0, 0], 0.5, 5.0),
        ([0, 10, 0, 0], 0.5, 15.0),
        ([5, 5, 0, 0], 0.5, 10.0),
        ([90, 5, 5, 0], 0.95, 20.0),
        ([0, 0, 0, 7], 0.5, 40.0),
    ],
)
def test_a_percentile_is_read_within_its_bucket(counts, share, expected):
    assert percentile(counts, BOUNDS, share) == expected


@given(st.lists(st.integers(1, 30_000), min_size=1, max_size=200), st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_lies_in_the_bucket_of_the_true_one(values, share):
    counts = [0] * (len(ATTEMPT_MS) + 1)
    for value in values:
        counts[next(index for index, bound in enumerate(ATTEMPT_MS) if value <= bound)] += 1
    true = sorted(values)[max(0, -(-int(share * 1000) * len(values) // 1000) - 1)]
    bucket = next(index for index, bound in enumerate(ATTEMPT_MS) if true <= bound)

    read = percentile(counts, ATTEMPT_MS, share)

    assert (ATTEMPT_MS[bucket - 1] if bucket else 0) <= read <= ATTEMPT_MS[bucket]


def test_failures_are_named_by_their_class():
    counts = [0] * len(FAILURE_KINDS)
    counts[FAILURE_KINDS.index(Kind.TIMEOUT)] = 3
    assert by_kind(counts) == {Kind.TIMEOUT: 3}
