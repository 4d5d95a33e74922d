"""Until nothing moves any more, and what must be true then."""

import time
from typing import Any, Final

from django.db import connection

from deliveries.models import Delivery
from deliveries.redis_client import redis_client
from tests.chaos import cast
from tests.chaos.recovery import await_deliveries
from tests.chaos.stage import Stage
from webhooks_project.broker import QUEUES, VISIBILITY_TIMEOUT_SECONDS

SETTLE_SECONDS: Final = 420.0
"""A run ends: waits are a second or two, and a circuit that opened again and again closes within five minutes."""

BROKER_SECONDS: Final = VISIBILITY_TIMEOUT_SECONDS + 30.0
"""What a killed worker had taken and not acknowledged comes back by the visibility timeout."""

GROWTH_BYTES: Final = 1_000_000
LOOK_SECONDS: Final = 0.5


# Short runs move the waits and the deadlines that are near; they do not sit them out.
_HURRY: Final = """
UPDATE deliveries_delivery
SET next_attempt_at = now(), deadline_at = least(deadline_at, greatest(now(), deadline_at - interval '1 minute'))
WHERE status = 'pending' AND (next_attempt_at > now() OR deadline_at < now() + interval '1 minute')
"""


def await_first_deliveries(stage: Stage) -> None:
    """Begin only when every steady endpoint has got something."""
    await_deliveries(stage, cast.STEADY, time.monotonic())


def settle_down(stage: Stage, bytes_before: int) -> list[str]:
    """Wait until no delivery is on its way and the broker is empty; returns what does not come to rest."""
    faults = []
    if not _wait(lambda: not _unfinished(stage.hurry), SETTLE_SECONDS):
        faults.append(f"{_unfinished(False)} deliveries are not final after {SETTLE_SECONDS:.0f} s")
    if stage.hurry:
        _end_visibility()
    if not _wait(lambda: _is_empty(stage), BROKER_SECONDS):
        faults.append(f"the broker still holds {broker_depths()}")
    if (grown := broker_bytes() - bytes_before) > GROWTH_BYTES:
        faults.append(f"the broker holds {grown:,} bytes more than at the beginning")
    return faults


def _is_empty(stage: Stage) -> bool:
    depths = broker_depths()
    # A timer is a message too, at most one an endpoint, held by a worker for up to 90 s. Short runs do not wait for it.
    timers = len(stage.endpoints) if stage.hurry else 0
    return depths.pop("unacked") <= timers and not any(depths.values())


def broker_depths() -> dict[str, int]:
    """Messages in each queue, and those that workers have taken and not acknowledged."""
    client = redis_client()
    return {**{name: int(client.llen(name)) for name in QUEUES}, "unacked": int(client.hlen("unacked"))}


def broker_bytes() -> int:
    """What the broker's data takes."""
    return int(redis_client().info("memory")["used_memory_dataset"])


def _end_visibility() -> None:
    """Short runs do not wait for the visibility timeout of what killed workers had taken."""
    client = redis_client()
    long_ago: dict[Any, float] = dict.fromkeys(client.zrange("unacked_index", 0, -1), 1.0)
    if long_ago:
        client.zadd("unacked_index", long_ago)


def _unfinished(hurry: bool) -> int:
    if hurry:
        with connection.cursor() as cursor:
            cursor.execute(_HURRY)
    return int(Delivery.objects.filter(status__in=["pending", "sending"]).count())


def _wait(is_so, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True
