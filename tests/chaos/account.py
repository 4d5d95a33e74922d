"""What became of every event: rows and the receiver's log against what was committed."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from deliveries.models import Attempt, DeadLetter, Delivery, Event
from deliveries.transitions import lapse
from endpoints.matching import candidate_patterns
from tests.chaos import cast
from tests.chaos.flight import Flight
from tests.chaos.witness import Pair, Sighting, Witness

CLOCK_SECONDS: Final = 60.0
"""A signature is as young as its request, whatever the clock of the worker says; unless it hung in between."""

SHOWN: Final = 5


@dataclass(slots=True)
class Account:
    """Figures of a run; each fault is a sentence."""

    events: int = 0
    deliveries: int = 0
    delivered: int = 0
    dead: int = 0
    lost: int = 0
    duplicates: int = 0
    attempts: int = 0
    lapsed: int = 0
    requests: int = 0
    dead_at: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def dead_by_endpoint(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in sorted(self.dead_at.items())) or "none"

    def fault(self, sentence: str, which: object = None) -> None:
        self.faults.append(sentence if which is None else f"{sentence}, such as {which}")


def settle_up(ledger: Path, witness: Witness, endpoint_ids: dict[str, int], flights: set[Flight]) -> Account:
    """Account for everything; call it when nothing moves any more."""
    witness.read()
    account = Account()
    ids = {id: name for name, id in endpoint_ids.items()}
    promised = set(ledger.read_text().split())
    events = {row[0]: row for row in Event.objects.values_list("id", "type", "sequence", "body")}
    deliveries = {
        (endpoint, event): (id, status, count)
        for id, endpoint, event, status, count in Delivery.objects.values_list(
            "id", "endpoint_id", "event_id", "status", "attempt_count"
        )
    }
    attempts: dict[int, list[tuple[int, int | None, str]]] = defaultdict(list)
    for delivery, number, code, reason in Attempt.objects.values_list("delivery_id", "number", "status_code", "reason"):
        attempts[delivery].append((number, code, reason))
    seen: dict[Pair, list[Sighting]] = defaultdict(list)
    for sighting in witness.sightings:
        seen[sighting.pair].append(sighting)

    account.events, account.deliveries = len(events), len(deliveries)
    account.requests, account.attempts = len(witness.sightings), sum(map(len, attempts.values()))
    account.lapsed = sum(reason == lapse.REASON for rows in attempts.values() for _, _, reason in rows)
    _nothing_is_lost(account, promised, events, deliveries, endpoint_ids)
    _every_end_is_true(account, events, deliveries, seen, ids)
    _attempts_agree(account, deliveries, attempts, seen)
    _requests_are_the_events(account, events, seen, witness)
    _duplicates(account, deliveries, attempts, seen, flights)
    _order(account, witness, events, endpoint_ids["ordered"])
    return account


def _nothing_is_lost(account, promised, events, deliveries, endpoint_ids) -> None:
    if missing := promised - set(events):
        account.lost += len(missing)
        account.fault(f"{len(missing)} committed events are gone", sorted(missing)[:SHOWN])
    wanted = {
        (endpoint_ids[part.name], id)
        for part in cast.CAST
        for id, type, _, _ in events.values()
        if set(candidate_patterns(type)) & set(part.types)
    }
    if unmade := wanted - set(deliveries):
        account.lost += len(unmade)
        account.fault(f"{len(unmade)} deliveries were never made", sorted(unmade)[:SHOWN])
    if extra := set(deliveries) - wanted:
        account.fault(f"{len(extra)} deliveries nobody asked for", sorted(extra)[:SHOWN])


def _every_end_is_true(account, events, deliveries, seen, ids) -> None:
    letters = Counter(DeadLetter.objects.values_list("delivery_id", flat=True))
    may_die = {part.name for part in cast.CAST if part.may_die}
    for pair, (id, status, _) in deliveries.items():
        accepted = any(sighting.accepted for sighting in seen[pair])
        if status == "delivered":
            account.delivered += 1
            if not accepted:
                account.lost += 1
                account.fault("a delivery is called delivered and the receiver never accepted it", pair)
        elif status == "dead":
            account.dead += 1
            account.dead_at[ids[pair[0]]] += 1
            if letters[id] != 1:
                account.lost += 1
                account.fault(f"a dead delivery has {letters[id]} dead letters", pair)
            innocent = ids[pair[0]] == "poisoned" and cast.POISON not in events[pair[1]][3]
            if ids[pair[0]] not in may_die or innocent:
                account.fault(f"a delivery to {ids[pair[0]]} died", pair)
        else:
            account.lost += 1
            account.fault(f"a delivery is stuck as {status}", (ids[pair[0]], pair[1]))


def _attempts_agree(account, deliveries, attempts, seen) -> None:
    for pair, (id, _, count) in deliveries.items():
        rows = attempts[id]
        if sorted(number for number, _, _ in rows) != list(range(1, count + 1)):
            account.fault(f"attempts of {count} are numbered {sorted(number for number, _, _ in rows)}", pair)
        answered = Counter(code for _, code, _ in rows if code is not None)
        if answered - Counter(sighting.status for sighting in seen[pair]):
            account.fault("attempts record answers that the receiver never gave", (pair, dict(answered)))
        if len(seen[pair]) > count:
            account.fault(f"{len(seen[pair])} requests were made in {count} attempts", pair)


def _requests_are_the_events(account, events, seen, witness) -> None:
    bodies = {id: sha256(body.encode()).hexdigest() for id, _, _, body in events.values()}
    if wrong := [
        sighting.pair
        for sightings in seen.values()
        for sighting in sightings
        if bodies.get(sighting.pair[1]) != sighting.sha256
    ]:
        account.fault(f"{len(wrong)} requests had other bytes than their event", wrong[:SHOWN])
    if old := [
        sighting.pair for sighting in witness.sightings if abs(int(sighting.timestamp) - sighting.wall) > CLOCK_SECONDS
    ]:
        account.fault(f"{len(old)} requests were signed with a wrong time", old[:SHOWN])
    if witness.strangers:
        account.fault(f"{len(witness.strangers)} requests went to no endpoint", witness.strangers[:SHOWN])


def _duplicates(account, deliveries, attempts, seen, flights: set[Flight]) -> None:
    """Requests after an accepted one. Each must have been in flight at a kill, as often as it was repeated."""
    repeats = {pair: sum(sighting.accepted for sighting in sightings) - 1 for pair, sightings in seen.items()}
    account.duplicates = sum(count for count in repeats.values() if count > 0)
    allowed = Counter(pair for pair, _ in flights)
    unexplained = {pair: count for pair, count in repeats.items() if count > allowed[pair]}
    if account.duplicates > len(flights):
        account.fault(f"{account.duplicates} duplicates, but {len(flights)} requests in flight at the kills")
    if unexplained:
        account.fault(
            f"{len(unexplained)} deliveries arrived twice without a kill",
            [_story(pair, deliveries, attempts, seen) for pair in list(unexplained)[:SHOWN]],
        )


def _story(pair: Pair, deliveries, attempts, seen) -> str:
    rows = sorted(attempts[deliveries[pair][0]])
    came = [f"{sighting.monotonic:.2f} {sighting.status}" for sighting in seen[pair]]
    return f"{pair}: requests {came}, attempts {[(number, code, reason[:40]) for number, code, reason in rows]}"


def _order(account, witness: Witness, events, endpoint: int) -> None:
    """Nothing reaches the ordered endpoint before everything older was accepted; what was accepted may repeat."""
    came = [sighting for sighting in witness.sightings if sighting.pair[0] == endpoint]
    expected = sorted({sighting.pair[1] for sighting in came}, key=lambda id: events[id][2])
    position = {id: number for number, id in enumerate(expected)}
    reached = 0
    for sighting in came:
        number = position[sighting.pair[1]]
        if number > reached:
            account.fault("the ordered endpoint got an event before the one ahead of it was accepted", sighting.pair)
            return
        if number == reached and sighting.accepted:
            reached += 1
