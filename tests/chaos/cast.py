"""The endpoints of a chaos run, each with its own way to answer, and what is published to them."""

from dataclasses import dataclass, field
from typing import Any, Final

TENANT: Final = "chaos"
POISON: Final = "chaos-poison-a5f1"
"""In a body, it kills whoever signs it (`hooks/sitecustomize.py`)."""

PATIENT, SHORT, POISONED = "chaos", "chaos, short", "chaos, poisoned"

POLICIES: Final[dict[str, dict[str, Any]]] = {
    # More attempts than any run can spend: whatever dies of them in the end shall not be a dead letter.
    PATIENT: {"kind": "exponential", "base_seconds": 1, "cap_seconds": 2, "max_attempts": 60, "deadline_seconds": 3600},
    SHORT: {"kind": "exponential", "base_seconds": 1, "cap_seconds": 2, "max_attempts": 3, "deadline_seconds": 20},
    POISONED: {"kind": "exponential", "base_seconds": 1, "cap_seconds": 2, "max_attempts": 6, "deadline_seconds": 3600},
}


@dataclass(frozen=True, slots=True)
class Part:
    """One endpoint: `path` is what the receiver does. `steady` ones get several events a second and accept them."""

    name: str
    path: str
    types: tuple[str, ...]
    policy: str = PATIENT
    steady: bool = False
    may_die: bool = False
    fields: dict[str, Any] = field(default_factory=dict)


CAST: Final = (
    Part("calm", "/slow/0.05/calm", ("order.*",), steady=True, fields={"max_concurrency": 16}),
    Part("target", "/named/target", ("order.placed",), steady=True),
    Part("random", "/random/20/7/random", ("order.paid",)),
    Part("ordered", "/random/3/7/ordered", ("stock.moved",), steady=True, fields={"ordered": True}),
    Part("limited", "/ok/limited", ("invoice.sent",), steady=True, fields={"rate_limit_per_second": 20}),
    Part("slowish", "/slow/0.3/slowish", ("parcel.scanned",), steady=True, fields={"max_concurrency": 6}),
    Part("sluggish", "/slow/2/sluggish", ("report.ready",), fields={"timeout_seconds": 10}),
    Part("flaky", "/random/35/3/flaky", ("rare.flaky",)),
    Part("throttling", "/throttle/1/1/throttling", ("rare.throttled",)),
    Part("resetting", "/reset/resetting", ("rare.reset",), policy=SHORT, may_die=True),
    Part("refusing", "/status/422/refusing", ("rare.refused",), may_die=True),
    Part("poisoned", "/ok/poisoned", ("rare.poison",), policy=POISONED, may_die=True),
)

STEADY: Final = tuple(part.name for part in CAST if part.steady)

WEIGHTS: Final = {
    "order.placed": 420,
    "order.paid": 200,
    "stock.moved": 160,
    "invoice.sent": 110,
    "parcel.scanned": 90,
    "report.ready": 10,
    "rare.flaky": 3,
    "rare.reset": 3,
    "rare.throttled": 4,
    "rare.refused": 4,
}
"""How often each type is published, in a thousand or so."""
