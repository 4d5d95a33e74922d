"""What does a scrape of the metrics cost when there is much of everything?

Five million deliveries for 2,000 endpoints, most of them delivered, 4 % waiting, some dead; rollups of six hours by the
minute and of 30 days by the hour, with every endpoint busy in the minutes that are open; twenty sources. Each scrape is
a whole request through Django, once a sweep has counted as beat would have it. Attempts are left out: nothing of a
scrape reads them.
"""

import os
import time
from statistics import quantiles

from django.conf import settings
from django.test import Client

from bench import crowd
from bench.errors import BenchFailed
from bench.size import size_from
from deliveries.redis_client import redis_client
from deliveries.sweeps import figures
from deliveries.watch import census

SIZE = {"BENCH_DELIVERIES": "5000000", "BENCH_ENDPOINTS": "2000"}
SCRAPES = 200
SCRAPES_PER_SWEEP = 10
TOKEN = "bench"


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises BenchFailed."""
    size = size_from({**SIZE, **os.environ})
    settings.HOLDFAST_METRICS_TOKEN = TOKEN
    # No static files are asked for, and WhiteNoise warns when its folder is not there.
    settings.STATIC_ROOT = os.path.dirname(__file__)
    began = time.monotonic()
    crowd.gather(size.deliveries, size.endpoints)
    filled = time.monotonic() - began
    client = Client(headers={"authorization": f"Bearer {TOKEN}"}, SERVER_NAME="127.0.0.1")
    sweeps, scrapes = [], []
    for number in range(SCRAPES):
        crowd.keep_busy()
        if number % SCRAPES_PER_SWEEP == 0:
            sweeps.append(_milliseconds(figures.sweep))
        scrapes.append(_milliseconds(lambda: _scrape(client)))
    redis_client().delete(census.KEY)
    counting = _milliseconds(lambda: _scrape(client))
    series = sum(not line.startswith("#") for line in _scrape(client).splitlines())
    _print(size.deliveries, size.endpoints, filled, scrapes, sweeps, counting, series)
    return {
        "scrape_p95_ms": round(quantiles(scrapes, n=20)[-1], 2),
        "deliveries": size.deliveries,
        "endpoints": size.endpoints,
        "series": series,
    }


def _scrape(client: Client) -> str:
    answer = client.get("/metrics")
    if answer.status_code != 200:
        raise BenchFailed(f"The scrape was answered {answer.status_code}.")
    return answer.content.decode()


def _milliseconds(work) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _print(deliveries, endpoints, filled, scrapes, sweeps, counting, series) -> None:
    cuts = quantiles(scrapes, n=20)
    print(f"Scrape: {deliveries:,} deliveries, {endpoints:,} endpoints, filled in {filled:.0f} s.\n")
    print(f"{len(scrapes)} scrapes    median {cuts[9]:.1f} ms, 95th percentile {cuts[-1]:.1f} ms, {series} series")
    print(f"{len(sweeps)} sweeps      {min(sweeps):.0f} to {max(sweeps):.0f} ms: totals and census, every ten seconds")
    print(f"no census     {counting:.0f} ms: a scrape that has to count by itself, because no sweep did\n")
