"""The pace of a redrive or replay. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """When deliveries become due: the first `start_seconds` from now, each further one `step_seconds` later.

    The pace is written into the rows' due times, so it survives any restart.
    """

    start_seconds: float = 0.0
    step_seconds: float = 0.0
