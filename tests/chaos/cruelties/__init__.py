"""What is done to a running pipeline, a function each: it returns when the cruelty is over, and recovery begins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.chaos.cruelties import broker, clocks, crashes, database, endpoints, races, workers
from tests.chaos.stage import Stage


@dataclass(frozen=True, slots=True)
class Cruelty:
    """`weight`: how many times it comes in a deck of the mixed scenario."""

    name: str
    act: Callable[[Stage], None]
    weight: int = 1


ALL: Final = (
    Cruelty("kill-worker", workers.kill_one, weight=4),
    Cruelty("kill-all", workers.kill_all, weight=3),
    Cruelty("kill-all-unnoticed", workers.kill_all_and_wait_for_the_alarm),
    Cruelty("stop-worker", workers.stop_one, weight=2),
    Cruelty("stop-all", workers.stop_all),
    Cruelty("hang-workers", workers.hang_all),
    Cruelty("hang-worker", workers.hang_one),
    Cruelty("kill-publisher", workers.kill_publisher),
    Cruelty("kill-valkey", broker.kill, weight=2),
    Cruelty("flush", broker.flush, weight=2),
    Cruelty("pause-broker", broker.pause),
    Cruelty("broker-away", broker.publish_while_away),
    Cruelty("restart-postgres", database.restart_fast),
    Cruelty("crash-postgres", database.restart_immediate, weight=2),
    Cruelty("end-sessions", database.end_sessions, weight=2),
    Cruelty("disk-full", database.disk_full),
    Cruelty("disk-full-for-long", database.disk_full_for_long),
    Cruelty("read-only", database.read_only),
    Cruelty("reset", endpoints.reset_after_the_body),
    Cruelty("two-beats", races.two_beats),
    Cruelty("claim-race", races.sweep_and_wake_up_at_once),
    Cruelty("slow-past-lease", races.slower_than_the_lease),
    Cruelty("clock-off", clocks.one_worker_off),
    Cruelty("clocks-ahead", clocks.all_ahead),
    Cruelty("poison", crashes.poison),
)

BY_NAME: Final = {cruelty.name: cruelty for cruelty in ALL}
