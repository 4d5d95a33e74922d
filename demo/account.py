"""Every event for every endpoint, accounted for: both sides have to say the same (pure).

A delivery counts as arrived when Holdfast says delivered and the receiver's own log has it accepted, and as kept when
an open dead letter holds it. Whatever is neither is lost.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Pair = tuple[str, str]
"""Event id, endpoint name."""


@dataclass(slots=True)
class Log:
    """What the receiver wrote down before it answered each request."""

    requests: int = 0
    accepted: set[Pair] = field(default_factory=set)
    changed_bodies: set[str] = field(default_factory=set)
    """Events whose body was not the same bytes in every request."""


@dataclass(frozen=True, slots=True)
class Account:
    """What became of every pair."""

    arrived: int
    kept: int
    lost: tuple[Pair, ...]


def read_log(lines: Iterable[str]) -> Log:
    """Read the receiver's log: one JSON object a line, requests among other notes."""
    log = Log()
    bodies: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        entry = json.loads(line)
        if "webhook-id" not in entry:
            continue
        log.requests += 1
        event_id, name = entry["webhook-id"], entry["target"].rpartition("/")[2]
        bodies[event_id].add(entry["sha256"])
        if entry["status"] is not None and 200 <= entry["status"] <= 299:
            log.accepted.add((event_id, name))
    log.changed_bodies = {event_id for event_id, hashes in bodies.items() if len(hashes) > 1}
    return log


def settle_up(promised: Iterable[Pair], delivered: set[Pair], accepted: set[Pair], dead: set[Pair]) -> Account:
    """Compare what was promised with what was delivered, accepted by the receiver, and kept as an open dead letter."""
    arrived, kept, lost = 0, 0, []
    for pair in promised:
        if pair in delivered and pair in accepted:
            arrived += 1
        elif pair in dead and pair not in delivered:
            kept += 1
        else:
            lost.append(pair)
    return Account(arrived, kept, tuple(lost))
