"""What Prometheus reads of the inbox, from the rows that all processes share. Usable without any other app."""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import inf, isinf
from typing import Final

from django.db import Error, connection, transaction
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from redis import RedisError

from inbox import signs, stock
from inbox.refusals import SIGNATURE_REASONS
from inbox.stock import COUNTED, Tally, Waiting
from inbox.transitions.tally import FAILED, FINISHED, LATENCY_MS

logger = logging.getLogger(__name__)

LABELLED_SOURCES: Final = 50
"""Sources, oldest first, that have series of their own; the rest is OTHER, so that the number of series is bounded."""

OTHER: Final = "other"

PATIENCE_SECONDS: Final = 3.0


class InboxCollector(Collector):
    """Register it in a registry made for the scrape: it keeps nothing, and whichever process is asked says the same."""

    def collect(self) -> Iterator[Metric]:
        """Every family; only that the database is away when it is."""
        try:
            found = _read()
        except Error as error:
            # Of the class only: the message may name hosts and users.
            logger.warning("the metrics of the inbox got no answer: %s", type(error).__name__)
            found = []
        yield GaugeMetricFamily(
            "holdfast_inbox_up", "1 when the database answered for the inbox.", value=float(bool(found))
        )
        yield from found
        yield from _sweeps()


def _sweeps() -> Iterator[Metric]:
    family = GaugeMetricFamily(
        "holdfast_inbox_sweep_age_seconds",
        "Since each sweep of the inbox last ran; one that never did, or not for a day, is missing.",
        labels=["sweep"],
    )
    try:
        for duty, age in signs.ages().items():
            family.add_metric([duty], age)
    except RedisError as error:
        logger.warning("the sweeps of the inbox are not heard of: %s", type(error).__name__)
        return
    yield family


def _read() -> list[Metric]:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{PATIENCE_SECONDS * 1000:.0f}ms"])
        tallies, waiting = stock.tallies(), stock.waiting()
        names = {each.source: each.source for each in tallies[:LABELLED_SOURCES]} | {"": ""}
        return [
            *_traffic(tallies, names),
            *_refusals(names),
            *_latency(tallies, names),
            *_waiting(waiting, names),
            *_letters(names),
        ]


def _traffic(tallies: Sequence[Tally], names: dict[str, str]) -> Iterator[Metric]:
    def counted(name: str, words: str, label: str, rows: Iterable[tuple[str, str, int]]) -> CounterMetricFamily:
        return _counters(name, words, ["source", label] if label else ["source"], rows, names)

    yield counted(
        "holdfast_inbox_received",
        "Events that were proven and stored.",
        "",
        [(t.source, "", t.received) for t in tallies],
    )
    yield counted(
        "holdfast_inbox_duplicates",
        "Times that an event came again, whatever its body.",
        "",
        [(t.source, "", t.duplicates) for t in tallies],
    )
    yield counted(
        "holdfast_inbox_conflicts",
        "Those of them that came with another body.",
        "",
        [(t.source, "", t.conflicts) for t in tallies],
    )
    yield counted(
        "holdfast_inbox_finished",
        "Events whose processing came to an end, by how; dead ones wait for a person.",
        "result",
        [(t.source, *pair) for t in tallies for pair in zip(map(str, FINISHED), t.finished, strict=True)],
    )
    yield counted(
        "holdfast_inbox_attempts_failed",
        "Attempts of handlers that failed, by class; crashed: the worker died or took too long.",
        "class",
        [(t.source, *pair) for t in tallies for pair in zip(map(str, FAILED), t.failed, strict=True)],
    )


def _refusals(names: dict[str, str]) -> Iterator[Metric]:
    found = stock.refusals()
    # From the beginning, so that the first one is an increase.
    nothing = [(source, reason, 0) for source in names if source for reason in SIGNATURE_REASONS]
    signatures = [row for row in found if row[1] in SIGNATURE_REASONS]
    yield _counters(
        "holdfast_inbox_signature_failures",
        "Requests whose signature was wrong or missing.",
        ["source", "reason"],
        [*nothing, *signatures],
        names,
    )
    yield _counters(
        "holdfast_inbox_refusals",
        "Requests that were refused for any other reason; those to no source of ours have an empty source.",
        ["source", "reason"],
        [row for row in found if row[1] not in SIGNATURE_REASONS],
        names,
    )


def _counters(
    name: str, words: str, labels: Sequence[str], rows: Iterable[tuple[str, str, int]], names: dict[str, str]
) -> CounterMetricFamily:
    sums: Counter[tuple[str, str]] = Counter()
    for source, key, count in rows:
        sums[names.get(source, OTHER), key] += count
    family = CounterMetricFamily(name, words, labels=labels)
    for label_values, count in sums.items():
        family.add_metric(label_values[: len(labels)], count)
    return family


def _latency(tallies: Sequence[Tally], names: dict[str, str]) -> Iterator[Metric]:
    family = HistogramMetricFamily(
        "holdfast_inbox_processing_seconds",
        "From the receipt of an event to the end of its processing, waits and retries included.",
        labels=["source"],
    )
    edges = [_bound(bound / 1000) for bound in (*LATENCY_MS, inf)]
    for name in dict.fromkeys(names.get(each.source, OTHER) for each in tallies):
        ours = [each for each in tallies if names.get(each.source, OTHER) == name]
        counts = [sum(column) for column in zip(*(each.latency for each in ours), strict=True)]
        total = sum(each.latency_ms_total for each in ours) / 1000
        family.add_metric([name], list(zip(edges, accumulate(counts), strict=True)), total)
    yield family


def _waiting(waiting: Sequence[Waiting], names: dict[str, str]) -> Iterator[Metric]:
    unprocessed = GaugeMetricFamily(
        "holdfast_inbox_unprocessed",
        f"Events that are not finished; counts stop at {COUNTED:,} a source.",
        labels=["source"],
    )
    oldest = GaugeMetricFamily(
        "holdfast_inbox_oldest_unprocessed_seconds",
        "Age of the oldest event that is not finished, one that waits for its retry too; 0 without any.",
        labels=["source"],
    )
    due = GaugeMetricFamily(
        "holdfast_inbox_oldest_due_seconds",
        "For how long the event that has been due longest has been so; 0 without any.",
        labels=["source"],
    )
    for name in dict.fromkeys(names.get(each.source, OTHER) for each in waiting):
        ours = [each for each in waiting if names.get(each.source, OTHER) == name]
        unprocessed.add_metric([name], sum(each.unprocessed for each in ours))
        oldest.add_metric([name], max(each.oldest_unprocessed_seconds for each in ours))
        due.add_metric([name], max(each.oldest_due_seconds for each in ours))
    yield from (unprocessed, oldest, due)


def _letters(names: dict[str, str]) -> Iterator[Metric]:
    sums: Counter[tuple[str, str]] = Counter()
    nothing = [(source, str(failure), 0) for source in names if source for failure in FAILED]
    for source, failure, count in [*nothing, *stock.open_letters()]:
        sums[names.get(source, OTHER), failure] += count
    family = GaugeMetricFamily(
        "holdfast_inbox_dead_letters_open",
        f"Dead letters that wait for a person, by class; of the newest {COUNTED:,}.",
        labels=["source", "class"],
    )
    for labels, count in sums.items():
        family.add_metric(labels, count)
    yield family
    yield GaugeMetricFamily(
        "holdfast_inbox_oldest_open_dead_letter_seconds",
        "Age of the oldest dead letter that is open; 0 without any.",
        value=stock.oldest_letter_seconds(),
    )


def _bound(seconds: float) -> str:
    """As client libraries write it: 1.0, not 1."""
    return "+Inf" if isinf(seconds) else repr(seconds)
