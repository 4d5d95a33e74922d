"""What a door must not be slowed by: a handler that takes its time, and one that finds its dependency away."""

import time

from inbox import Dependency, Incoming, handler

SOURCE = "bench"


@handler(SOURCE, "slow")
def take_time(event: Incoming) -> None:
    """Hold a worker's thread and a transaction for a while."""
    time.sleep(0.02)


@handler(SOURCE, "failing")
def fail(event: Incoming) -> Dependency:
    """Come back for days."""
    return Dependency("It is away.")
