"""The broker, killed, emptied and hung."""

import time

import redis
from django.conf import settings

from deliveries.redis_client import redis_client
from tests.chaos.recovery import expect_status
from tests.chaos.stage import Stage

PAUSE_SECONDS = 10.0

PUBLISH_SECONDS = 5.0
"""A publish gives up ringing well before that, and commits."""


def kill(stage: Stage) -> None:
    """SIGKILL Valkey and start it empty."""
    stage.burst(100)
    time.sleep(stage.rng.uniform(0.0, 0.5))
    stage.ground.kill_valkey()
    stage.count_kills(1)
    expect_status(stage, healthy=False, within=20)
    stage.ground.start_valkey()


def flush(stage: Stage) -> None:
    """FLUSHALL under full load."""
    stage.burst(200)
    time.sleep(stage.rng.uniform(0.0, 0.5))
    redis_client().flushall()


def pause(stage: Stage) -> None:
    """The broker takes connections and answers nothing for a while."""
    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5)
    client.client_pause(int(PAUSE_SECONDS * 1000))
    client.close()
    began = time.monotonic()
    stage.burst(1)
    took = time.monotonic() - began
    stage.say(f"a publish took {took:.1f} s")
    if took > PUBLISH_SECONDS:
        stage.faults.append(f"a publish took {took:.1f} s while the broker was paused")
    time.sleep(max(0.0, began + PAUSE_SECONDS - time.monotonic()))


def publish_while_away(stage: Stage) -> None:
    """Nobody can be rung for what is published now; the sweep finds it."""
    stage.ground.kill_valkey()
    stage.count_kills(1)
    ids = stage.burst(100)
    time.sleep(stage.rng.uniform(3, 8))
    stage.say(f"{len(ids)} published in one go meanwhile")
    stage.ground.start_valkey()
