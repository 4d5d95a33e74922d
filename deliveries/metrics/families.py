"""Makers of metric families."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf, isinf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily


def gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    """One number."""
    return GaugeMetricFamily(name, words, value=value)


def gauges(name: str, words: str, label: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    """A number for each value of a label."""
    family = GaugeMetricFamily(name, words, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def counters(name: str, words: str, label: str, values: Mapping[str, int]) -> CounterMetricFamily:
    """A count that never goes down, for each value of a label."""
    family = CounterMetricFamily(name, words, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family


def histogram(
    name: str, words: str, bounds_ms: Sequence[int], counts: Sequence[int], total_ms: int
) -> HistogramMetricFamily:
    """A histogram of seconds, from counts of each bucket by itself and bounds in milliseconds."""
    names = [_bound(bound / 1000) for bound in (*bounds_ms, inf)]
    return HistogramMetricFamily(
        name, words, buckets=list(zip(names, accumulate(counts), strict=True)), sum_value=total_ms / 1000
    )


def _bound(seconds: float) -> str:
    """As client libraries write it: 1.0, not 1."""
    return "+Inf" if isinf(seconds) else repr(seconds)
