"""The inbox in numbers: what came in, what was refused, how long it took, what waits and what was given up."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone

from inbox.doubts import doubts
from inbox.models import DeadLetter, ReceivedEvent, RefusalCount, Resolution, Source
from inbox.refusals import SIGNATURE_REASONS

WINDOW: Final = timedelta(hours=24)
LATENCY_EVENTS: Final = 1000
"""The latest events of a source that its latencies are read from: a walk along one index."""

_LATENCY = """
SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - received_at))
FROM (SELECT received_at, finished_at FROM inbox_receivedevent
      WHERE source_id = %s AND attempt_count > 0 ORDER BY id DESC LIMIT %s) AS latest
WHERE finished_at IS NOT NULL
"""


@dataclass(slots=True)
class SourceFigures:
    """One source. Counts are those of the last 24 hours, except what waits and what is open now; times are seconds.

    Latency is from receipt to the end of processing, retries included, of the latest thousand events.
    """

    source: str
    received: int = 0
    duplicates: int = 0
    conflicts: int = 0
    refusals: dict[str, int] = field(default_factory=dict)
    signature_failures: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    oldest_unprocessed_seconds: float | None = None
    oldest_due_seconds: float | None = None
    latency_p50_seconds: float | None = None
    latency_p95_seconds: float | None = None
    open_dead_letters: dict[str, int] = field(default_factory=dict)
    unhandled_types: dict[str, int] = field(default_factory=dict)
    doubt: str = ""

    @property
    def duplicate_rate(self) -> float:
        """Of all that was proven, the share that had come before."""
        return self.duplicates / (self.received + self.duplicates) if self.duplicates else 0.0


def figures() -> list[SourceFigures]:
    """Every source; refusals that named no source of ours come under the empty name."""
    sources = list(Source.objects.all())
    doubtful = {doubt.source: doubt.sentence for doubt in doubts()}
    found = [figures_of(source) for source in sources]
    for each in found:
        each.doubt = doubtful.get(each.source, "")
    nobody = SourceFigures("", refusals=_refusals(None)[0])
    return [*found, nobody] if nobody.refusals else found


def figures_of(source: Source) -> SourceFigures:
    """One source, without the doubt about its configuration."""
    now = timezone.now()
    events = ReceivedEvent.objects.filter(source=source)
    recent = events.filter(received_at__gt=now - WINDOW)
    sums = recent.order_by().aggregate(events=Count("pk"), again=Sum("duplicates"), other=Sum("conflicts"))
    unfinished = events.filter(status__in=["received", "processing"]).order_by()
    oldest = unfinished.order_by("received_at").values_list("received_at", flat=True).first()
    due = unfinished.filter(next_attempt_at__lte=now).order_by("next_attempt_at")
    first_due = due.values_list("next_attempt_at", flat=True).first()
    refusals, signatures = _refusals(source)
    median, p95 = _latency(source)
    return SourceFigures(
        source=source.slug,
        received=sums["events"],
        duplicates=sums["again"] or 0,
        conflicts=sums["other"] or 0,
        refusals=refusals,
        signature_failures=signatures,
        waiting=unfinished.count(),
        oldest_unprocessed_seconds=(now - oldest).total_seconds() if oldest else None,
        oldest_due_seconds=(now - first_due).total_seconds() if first_due else None,
        latency_p50_seconds=median,
        latency_p95_seconds=p95,
        open_dead_letters=_pairs(DeadLetter.objects.filter(source=source, resolution=Resolution.OPEN), "failure_class"),
        unhandled_types=_pairs(recent.filter(status="ignored"), "type"),
    )


def _refusals(source: Source | None) -> tuple[dict[str, int], dict[str, int]]:
    """Of today and yesterday (UTC): by reason, and those of signatures by the keys that were tried."""
    since = (timezone.now() - WINDOW).date()
    rows = RefusalCount.objects.filter(source=source, day__gte=since).order_by("reason", "keys")
    refusals: dict[str, int] = {}
    signatures: dict[str, int] = {}
    for reason, keys, count in rows.values_list("reason", "keys", "count"):
        which, name = (signatures, keys or "-") if reason in SIGNATURE_REASONS else (refusals, reason)
        which[name] = which.get(name, 0) + count
    return refusals, signatures


def _latency(source: Source) -> tuple[float | None, float | None]:
    with connection.cursor() as cursor:
        cursor.execute(_LATENCY, [source.pk, LATENCY_EVENTS])
        median, p95 = cursor.fetchone()[0] or (None, None)
        return median, p95


def _pairs(rows: Any, column: str) -> dict[str, int]:
    counted = rows.order_by().values_list(column).annotate(rows=Count("pk")).order_by("-rows")
    return {name or "-": count for name, count in counted[:20]}
