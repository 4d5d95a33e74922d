"""Counters and histograms of attempts, from the totals."""

from collections.abc import Iterator

from django.db import connection, transaction
from prometheus_client.core import CounterMetricFamily, Metric

from deliveries.histograms import ATTEMPT_MS, END_TO_END_MS, FAILURE_KINDS, attempt_names
from deliveries.metrics.families import counters, histogram
from deliveries.watch.survey import BOUNDED, PATIENCE_SECONDS
from deliveries.watch.totals import totals


def families() -> Iterator[Metric]:
    """Raises a database error."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(BOUNDED, [f"{PATIENCE_SECONDS * 1000:.0f}ms"])
        found = totals()
    yield CounterMetricFamily("holdfast_attempts", "Requests to endpoints whose result was recorded.", found.attempts)
    yield CounterMetricFamily(
        "holdfast_retries",
        "Attempts that were not the first of their delivery; those after a redrive or replay are among them.",
        found.retries,
    )
    yield counters(
        "holdfast_deliveries_acknowledged",
        "Deliveries that an endpoint answered 2xx, by the number of the attempt that did it.",
        "attempt",
        dict(zip(attempt_names(), found.delivered_by_number, strict=True)),
    )
    yield counters(
        "holdfast_attempts_failed",
        "Attempts without a 2xx, by class; auth is 401 and 403, throttled is 408, 425 and 429.",
        "class",
        {kind.value: count for kind, count in zip(FAILURE_KINDS, found.failed_by_kind, strict=True)},
    )
    yield histogram(
        "holdfast_attempt_duration_seconds",
        "How long an attempt took, from dialling to the answer or the failure.",
        ATTEMPT_MS,
        found.attempt_ms,
        found.attempt_ms_total,
    )
    yield histogram(
        "holdfast_event_to_acknowledgement_seconds",
        "From the recording of a delivery to the 2xx of its endpoint, waits and retries included.",
        END_TO_END_MS,
        found.end_to_end_ms,
        found.end_to_end_ms_total,
    )
