"""How fast an endpoint may be sent to, held across all workers by scripts on Redis.

rules.py   the numbers: limits, bursts, when the circuit opens, how the ramp grows
gate.py    take, report, leave, resume: the scripts and their answers
view.py    what operators see of it
*.lua      the scripts, each one round trip for all endpoints of a drain

One worker drains an endpoint at a time: it holds a short lease, renewed with every take; that keeps the concurrency
cap and the order. The claim of the rows stays correct when the lease is lost. The clock is Redis's own, so no worker's
counts. Every key expires, and a Redis that lost its memory costs one burst: the circuit closes, the bucket is full.
"""

from deliveries.pacing.gate import Allowance, Tally, give_back, leave, new_token, report, resume, take
from deliveries.pacing.view import Flow, circuits, describe, waits

__all__ = [
    "Allowance",
    "Flow",
    "Tally",
    "circuits",
    "describe",
    "give_back",
    "leave",
    "new_token",
    "report",
    "resume",
    "take",
    "waits",
]
