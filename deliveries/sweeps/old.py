"""Delete what has been kept long enough."""

import json
import logging
from datetime import datetime
from typing import Final

from django.utils import timezone
from redis import RedisError

from deliveries.prune import Pruned, Retention, Stop, prune
from deliveries.redis_client import redis_client
from deliveries.transitions.delete import Place
from deliveries.watch import heartbeats

logger = logging.getLogger(__name__)

BUDGET_SECONDS: Final = 30.0
"""Short, so that the upkeep queue stays free; the next run goes on."""

STOP_KEY: Final = "holdfast:prune"
STOP_KEPT_SECONDS: Final = 86_400


def sweep(budget_seconds: float = BUDGET_SECONDS) -> Pruned:
    """One budget's worth, by the configured retention.

    It goes on where the last run stopped: many events that have to stay would else use up every run's time.
    """
    pruned = prune(Retention.configured(), now=timezone.now(), budget_seconds=budget_seconds, start=_last_stop())
    _keep(pruned.stop)
    heartbeats.note("old")
    return pruned


def _last_stop() -> Stop | None:
    try:
        kept = redis_client().get(STOP_KEY)
    except RedisError as error:
        logger.warning("pruning starts from the beginning: %s", error)
        return None
    if kept is None:
        return None
    said = json.loads(kept)
    return Stop(said["kind"], Place(datetime.fromisoformat(said["time"]), said["id"]))


def _keep(stop: Stop | None) -> None:
    try:
        if stop is None:
            redis_client().delete(STOP_KEY)
        else:
            said = {"kind": stop.kind, "time": stop.place.time.isoformat(), "id": stop.place.id}
            redis_client().set(STOP_KEY, json.dumps(said), ex=STOP_KEPT_SECONDS)
    except RedisError as error:
        logger.warning("where pruning stopped is forgotten: %s", error)
