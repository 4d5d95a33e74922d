"""What does pruning cost those who publish? Publishing at a steady rate, with and without a prune beside it.

The tables hold events of months ago, each delivered to two endpoints by one attempt. This process publishes 100 events
a second for two endpoints, all the while; another prunes in spans, with short spans of quiet between, until all that
is old is gone. The spans take turns, so that a drift of the machine cancels out.
"""

import json
import os
import tempfile
import time
from pathlib import Path

from django.db import connection, transaction

from bench import pruner
from bench.arrivals import percentile
from bench.crew import Crew
from bench.errors import BenchFailed
from deliveries.publishing import publish
from endpoints.models import Endpoint

ROWS = 2_000_000
ROWS_PER_EVENT = 5
"""The event, two deliveries and an attempt of each."""

EVENTS_PER_SECOND = 100
QUIET_SECONDS, PRUNING_SECONDS = 4.0, 12.0
MOST_TURNS = 60
"""More would be a prune that does not come to its end."""

EVENTS_PER_FILL = 50_000

_FILL = (
    """
    INSERT INTO deliveries_event (id, type, tenant, sequence, occurred_at, created_at, body, fingerprint)
    SELECT 'old-' || n, 'bench.old', '', -n, at, at, repeat('x', 500), md5(n::text) || md5(n::text)
    FROM generate_series(%(first)s, %(last)s) AS n,
         LATERAL (SELECT now() - interval '90 days' + n * interval '1 second' AS at) AS moment
    """,
    """
    INSERT INTO deliveries_delivery (event_id, endpoint_id, status, attempt_count, budget_offset, finished_at,
                                     deadline_at, last_outcome, created_at)
    SELECT 'old-' || n, endpoint, 'delivered', 1, 0, at, at, 'delivered', at
    FROM generate_series(%(first)s, %(last)s) AS n, unnest(%(endpoints)s) AS endpoint,
         LATERAL (SELECT now() - interval '90 days' + n * interval '1 second' AS at) AS moment
    """,
    """
    INSERT INTO deliveries_attempt (delivery_id, number, started_at, duration_ms, outcome, status_code, reason, host,
                                    address, retry_after, snippet)
    SELECT id, 1, created_at, 20, 'delivered', 200, 'The endpoint answered 200.', 'http://127.0.0.1:9', '127.0.0.1',
           '', ''
    FROM deliveries_delivery
    WHERE event_id IN (SELECT 'old-' || n FROM generate_series(%(first)s, %(last)s) AS n)
    """,
)


def run() -> dict[str, float]:
    """Measure, print a line a span and return the figures. Raises BenchFailed."""
    rows = int(os.environ.get("BENCH_PRUNE_ROWS") or ROWS)
    endpoints = [Endpoint.objects.create(url=f"http://127.0.0.1:9/{number}").pk for number in range(2)]
    began = time.monotonic()
    _fill(rows // ROWS_PER_EVENT, endpoints)
    print(f"Prune: {rows:,} old rows, written in {time.monotonic() - began:.0f} s; ms a publish took.\n")
    print(f"{'':10}{'median':>9}{'p95':>9}{'p99':>9}{'longest':>9}{'rows pruned a second':>23}", flush=True)
    with tempfile.TemporaryDirectory() as folder, Crew(lambda _number: pruner.command(), 1) as crew:
        crew.wait_ready()
        _publish_for(2.0)
        quiet, beside = _take_turns(crew, Path(folder))
    _check()
    print()
    _print("quiet", quiet)
    _print("pruning", beside)
    print()
    before, while_pruning = 1000 * percentile(quiet, 99), 1000 * percentile(beside, 99)
    return {
        "p99_before_ms": round(before, 2),
        "p99_while_pruning_ms": round(while_pruning, 2),
        "ratio": round(while_pruning / before, 3),
        "rows": rows,
    }


def _take_turns(crew: Crew, folder: Path) -> tuple[list[float], list[float]]:
    """Seconds that publishes took while nothing else went on, and while it pruned."""
    quiet: list[float] = []
    beside: list[float] = []
    for turn in range(MOST_TURNS):
        latencies = _publish_for(QUIET_SECONDS)
        _print("quiet", latencies)
        quiet += latencies
        began = time.monotonic()
        crew.tell(f"{PRUNING_SECONDS} {folder / str(turn)}")
        latencies = _publish_for(PRUNING_SECONDS, until=folder / str(turn))
        crew.check()
        pruned = json.loads((folder / str(turn)).read_text())
        _print("pruning", latencies, pruned["events"] * ROWS_PER_EVENT / (time.monotonic() - began))
        beside += latencies
        if pruned["is_complete"]:
            return quiet, beside
    raise BenchFailed(f"Not all was pruned in {MOST_TURNS * PRUNING_SECONDS:.0f} s.")


def _fill(events: int, endpoints: list[int]) -> None:
    with connection.cursor() as cursor:
        for first in range(1, events + 1, EVENTS_PER_FILL):
            last = min(first + EVENTS_PER_FILL - 1, events)
            with transaction.atomic():
                for statement in _FILL:
                    cursor.execute(statement, {"first": first, "last": last, "endpoints": endpoints})
        # As if all of it had been there for a while: writing it down is not what is measured.
        cursor.execute("VACUUM ANALYZE deliveries_event, deliveries_delivery, deliveries_attempt")
        cursor.execute("CHECKPOINT")


def _publish_for(seconds: float, until: Path | None = None) -> list[float]:
    """Publish at the rate for so long, or until the file is there; seconds that each publish took."""
    latencies: list[float] = []
    began = time.monotonic()
    while (now := time.monotonic()) < began + seconds or until:
        if until and until.exists():
            break
        publish("bench.new", {"number": len(latencies), "note": "x" * 400})
        done = time.monotonic()
        latencies.append(done - now)
        time.sleep(max(0.0, now + 1 / EVENTS_PER_SECOND - done))
    return latencies


def _print(name: str, latencies: list[float], per_second: float | None = None) -> None:
    figures = [percentile(latencies, percent) * 1000 for percent in (50, 95, 99, 100)]
    rate = f"{per_second:>23,.0f}" if per_second else ""
    print(f"{name:10}" + "".join(f"{figure:>9.1f}" for figure in figures) + rate, flush=True)


def _check() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM deliveries_event WHERE type = 'bench.old'")
        if left := cursor.fetchone()[0]:
            raise BenchFailed(f"{left} old events were left.")
