"""All metrics of the deliveries, part by part."""

import logging
from collections.abc import Callable, Iterable, Iterator

from django.db import Error as DatabaseFault
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from redis import RedisError

from deliveries.metrics import signs, stock, traffic
from deliveries.metrics.families import gauges
from deliveries.watch import census

logger = logging.getLogger(__name__)


class DeliveriesCollector(Collector):
    """Register it in a registry made for the scrape: it keeps nothing, and whichever process is asked says the same."""

    def collect(self) -> Iterator[Metric]:
        """Every family; of a service that does not answer only that it does not."""
        found: list[Metric] = []
        up = {
            "redis": _answers(found, signs.families, RedisError),
            "database": _answers(found, traffic.families, DatabaseFault),
            "broker": _answers(found, signs.queue_families, RedisError),
        }
        if up["database"]:
            up["database"] = _answers(found, lambda: stock.families(census.latest()), DatabaseFault)
        yield gauges(
            "holdfast_service_up",
            "1 when the service answers; what it would have told is missing where it does not.",
            "service",
            up,
        )
        yield from found


def _answers(found: list[Metric], families: Callable[[], Iterable[Metric]], *faults: type[Exception]) -> bool:
    try:
        found += families()
    except faults as fault:
        # Of the class only: the message may name hosts and users.
        logger.warning("a part of the metrics got no answer: %s", type(fault).__name__)
        return False
    return True
