"""Worker processes, killed, stopped and hung."""

import signal
import time
from typing import Final
from uuid import UUID

from deliveries.models import Delivery
from tests.acceptance.waiting import eventually
from tests.chaos.crew import BEAT, HEALTHY, WORKERS
from tests.chaos.recovery import expect_status
from tests.chaos.stage import Stage

STOP_SECONDS: Final = 15.0
"""A worker that is told to stop finishes its requests in flight, the longest of which may take 10 s, and is gone."""

HANG_SECONDS: Final = 45.0
"""Longer than any lease: what it holds is sent by others meanwhile."""

ALARM_SECONDS: Final = 45.0

LEASE_SECONDS: Final = 70.0
"""Longer than the longest lease and the sweep that takes it back."""


def kill_one(stage: Stage) -> None:
    """SIGKILL a worker in the middle of a batch."""
    name = stage.rng.choice([*WORKERS, *HEALTHY])
    stage.burst(200)
    time.sleep(stage.rng.uniform(0.05, 0.6))
    stage.kill(name)
    stage.say(name)
    stage.crew.start(name)


def kill_all(stage: Stage) -> None:
    """SIGKILL every worker and beat at one moment."""
    stage.burst(200)
    time.sleep(stage.rng.uniform(0.05, 0.6))
    stage.kill(*WORKERS, BEAT)
    stage.crew.start(*WORKERS, BEAT)


def kill_all_and_wait_for_the_alarm(stage: Stage) -> None:
    """SIGKILL all of them, and leave them dead until the status says so."""
    stage.burst(50)
    stage.kill(*WORKERS, BEAT)
    expect_status(stage, healthy=False, within=ALARM_SECONDS)
    stage.crew.start(*WORKERS, BEAT)


def stop_one(stage: Stage) -> None:
    """SIGTERM a worker in the middle of a batch, as at a rolling restart."""
    name = stage.rng.choice(HEALTHY)
    _stop(stage, name)
    stage.crew.start(name)


def stop_all(stage: Stage) -> None:
    """SIGTERM all of them at one moment: what is in flight ends, the rest is handed back, nothing is left to lapse."""
    # A claim that committed as its session was cut off is nobody's: such leases of earlier cruelties lapse first.
    old = _leases()
    eventually(lambda: not _leases() & old, within=LEASE_SECONDS)
    _stop(stage, *WORKERS)
    if left := Delivery.objects.filter(status="sending").count():
        stage.faults.append(f"workers that were told to stop left {left} deliveries under lease")
    stage.crew.start(*WORKERS)


def hang_all(stage: Stage) -> None:
    """SIGSTOP every worker: the processes are up and nothing moves, until the status says so."""
    stage.burst(100)
    stage.crew.signal(signal.SIGSTOP, *WORKERS)
    stage.note_flight()
    expect_status(stage, healthy=False, within=ALARM_SECONDS)
    # What was in flight may have lapsed by the time they go on.
    stage.crew.signal(signal.SIGCONT, *WORKERS)


def hang_one(stage: Stage) -> None:
    """SIGSTOP a worker in the middle of a batch until all it holds is somebody else's, then let it go on."""
    name = stage.rng.choice(HEALTHY)
    stage.burst(400)
    time.sleep(stage.rng.uniform(0.1, 0.4))
    stage.crew.signal(signal.SIGSTOP, name)
    stage.note_flight()
    time.sleep(HANG_SECONDS)
    stage.crew.signal(signal.SIGCONT, name)
    stage.say(name)


def kill_publisher(stage: Stage) -> None:
    """SIGKILL the publishing process, most likely in a transaction."""
    stage.kill("publisher")
    stage.crew.start("publisher")


def _leases() -> set[tuple[int, UUID | None]]:
    return set(Delivery.objects.filter(status="sending").values_list("pk", "lease_token"))


def _stop(stage: Stage, *names: str) -> None:
    stage.burst(200)
    stage.burst(3, "report.ready")
    time.sleep(stage.rng.uniform(0.05, 0.6))
    took = stage.crew.stop(*names)
    stage.say(f"{', '.join(names)} stopped in {took:.1f} s")
    if took > STOP_SECONDS:
        stage.faults.append(f"{', '.join(names)} took {took:.1f} s to stop")
