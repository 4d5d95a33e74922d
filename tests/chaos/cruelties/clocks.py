"""Clocks that disagree."""

import time
from typing import Final

from deliveries.watch import liveness
from tests.chaos.crew import HEALTHY
from tests.chaos.recovery import pipeline_status
from tests.chaos.stage import Stage

OFF_SECONDS: Final = 300

SWEEPLESS_SECONDS: Final = liveness.SWEEP_SILENT_SECONDS + 5.0
"""After so long without a sweep the status would be unhealthy."""


def one_worker_off(stage: Stage) -> None:
    """One worker lives five minutes ahead of the others, or behind them, for a while."""
    name = stage.rng.choice(HEALTHY)
    off = stage.rng.choice((OFF_SECONDS, -OFF_SECONDS))
    stage.crew.stop(name)
    stage.crew.start(name, CHAOS_CLOCK_SECONDS=str(off))
    stage.crew.await_ready(name)
    stage.burst(200)
    time.sleep(stage.rng.uniform(4, 8))
    stage.say(f"{name} {off:+d} s")
    stage.crew.stop(name)
    stage.crew.start(name)


def all_ahead(stage: Stage) -> None:
    """Every worker that sweeps lives five minutes ahead of beat: what beat sends must not be too old for them."""
    stage.crew.stop(*HEALTHY)
    stage.crew.start(*HEALTHY, CHAOS_CLOCK_SECONDS=str(OFF_SECONDS))
    stage.crew.await_ready(*HEALTHY)
    time.sleep(SWEEPLESS_SECONDS)
    _, found = pipeline_status()
    if not found["healthy"]:
        stage.faults.append(f"with clocks ahead the status is unhealthy: {found['problems']}")
    stage.crew.stop(*HEALTHY)
    stage.crew.start(*HEALTHY)
