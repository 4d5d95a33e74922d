"""Try endpoints again that their health disabled, where that is wanted: note when, and ring for those that are due."""

import random
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from deliveries import dispatch
from deliveries.conf import conf
from deliveries.transitions import probes
from deliveries.watch import heartbeats
from deliveries.watch.clock import database_now
from endpoints.probing import wait_before_probe

RUNG_PER_SWEEP: Final = 64
"""A probe may take its endpoint's whole timeout; the next sweep rings for the rest."""


@dataclass(frozen=True, slots=True)
class ProbesSwept:
    """Endpoints whose first probe was planned, and those rung for because theirs is due."""

    planned: int
    rung: int


def sweep(now: datetime | None = None, rng: random.Random | None = None) -> ProbesSwept:
    """Look once. `now` (aware) and `rng` are for tests; by default the time is the database's."""
    now, minutes = now or database_now(), conf().thresholds.probe_minutes
    planned = probes.plan(minutes, partial(wait_before_probe, rng=rng or random.Random()))
    rung = dispatch.ring_for_probes(probes.due(minutes, now, RUNG_PER_SWEEP))
    heartbeats.note("probes")
    return ProbesSwept(planned, rung)
