"""The end of the demo: what was promised, compared with what the receiver can show."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deliveries.models import DeadLetter, Delivery, Event, Resolution
from deliveries.statuses import Status
from demo import cast, figures, screen
from demo.account import Account, Log, read_log, settle_up
from demo.stage import Stage


@dataclass(frozen=True, slots=True)
class Proof:
    """What the checks found. `bad_signatures` counts every request that could not be confirmed, for whatever reason."""

    account: Account
    bad_signatures: int
    changed_bodies: int

    @property
    def holds(self) -> bool:
        """Nothing lost, everything signed, no byte changed."""
        return not (self.account.lost or self.bad_signatures or self.changed_bodies)


def prove(stage: Stage, events: Sequence[Event]) -> Proof:
    """Check signatures, losses and sameness, saying what was found."""
    log = read_log(stage.log.read_text().splitlines())
    bad_signatures = _check_signatures(stage, log)
    account = _account(stage, events, log)
    screen.say(
        f"Losses: of {cast.DELIVERIES:,} deliveries promised, {account.arrived:,} are in the receiver's own log and "
        f"{account.kept:,} in an open dead letter that says why. Lost: {len(account.lost)}."
    )
    screen.say(
        f"Sameness: {len(log.changed_bodies)} events changed a byte between attempts; "
        f"{stage.receiver.stats()['duplicates']} requests came after their event had been accepted."
    )
    return Proof(account, bad_signatures, len(log.changed_bodies))


def result(proof: Proof, redriven: int, seconds: float) -> str:
    """The last line: one JSON object."""
    statuses = figures.count_statuses()
    found: dict[str, Any] = {
        "events": Event.objects.count(),
        "deliveries": statuses.total(),
        "delivered": statuses[Status.DELIVERED],
        "dead": statuses[Status.DEAD],
        "redriven": redriven,
        "lost": len(proof.account.lost),
        "bad_signatures": proof.bad_signatures,
        "seconds": round(seconds, 1),
    }
    return json.dumps(found)


def _check_signatures(stage: Stage, log: Log) -> int:
    found = stage.receiver.verify()
    good = int(found["good"])
    screen.say(
        f"Signatures: the receiver got {log.requests:,} requests, and standardwebhooks, a library that is not ours, "
        f"confirms {good:,}."
    )
    return max(log.requests, int(found["checked"])) - good


def _account(stage: Stage, events: Sequence[Event], log: Log) -> Account:
    names = {endpoint.pk: name for name, endpoint in stage.endpoints.items()}
    delivered = Delivery.objects.filter(status=Status.DELIVERED).values_list("event_id", "endpoint_id")
    dead = DeadLetter.objects.filter(resolution=Resolution.OPEN).values_list("delivery__event_id", "endpoint_id")
    return settle_up(
        promised=[(event.pk, name) for event in events for name in stage.endpoints],
        delivered={(event_id, names[id]) for event_id, id in delivered},
        accepted=log.accepted,
        dead={(event_id, names[id]) for event_id, id in dead},
    )
