"""Clocks that disagree."""

import time

from tests.chaos.crew import HEALTHY
from tests.chaos.stage import Stage

OFF_SECONDS = 300


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
