"""The leg of the bare loop."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from bench.backlog import Destination
from bench.legs.leg import Leg

THREADS = 4
"""A process's threads take turns at the interpreter. Fewer leave gaps while the receiver answers; more only add claims
and records. Measured on 2 cores: 1 thread 85 %, 2 threads 97 %, 4 and 8 threads 100 %, 16 threads below."""


def bare(destinations: Sequence[Destination]) -> Leg:
    """Raw psycopg2 and threads: the rate that is there to be had."""
    known = json.dumps([asdict(destination) for destination in destinations])
    return Leg(
        name="bare",
        command=lambda _number: [sys.executable, "-m", "bench.legs.bare_loop", "--threads", str(THREADS)],
        brief=lambda crew: crew.tell(known),
        ring=lambda crew: crew.tell("begin"),
    )
