"""Take, report, leave, resume: what drains ask of pacing. One round trip for any number of endpoints.

Everything here raises RedisError when Redis is away: with nobody to count, nothing may be sent.
"""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import uuid4

from deliveries import lines
from deliveries.pacing import rules
from deliveries.pacing.keys import keys
from deliveries.pacing.scripts import Call, run


@dataclass(frozen=True, slots=True)
class Allowance:
    """The answer to a take: how many requests may go now, the seconds until more may, and why not more.

    `why`: free, limit, ramp, held (the endpoint asked for less), open, half-open, probe, busy (another worker drains
    it). `interval_ms` is what one request costs of the limit, 0 without one.
    """

    granted: int
    wait_seconds: float
    why: str
    interval_ms: float = 0.0

    @property
    def is_busy(self) -> bool:
        return self.why == "busy"


@dataclass(slots=True)
class Tally:
    """What became of some requests of one endpoint, in the order they ended.

    `streak` counts the failures since the last success. `hold_seconds` is set when the endpoint asked for less.
    """

    good: int = 0
    bad: int = 0
    streak: int = 0
    hold_seconds: float | None = None


def new_token() -> str:
    """Names one drain, so that only it renews and releases its leases."""
    return uuid4().hex


def take(token: str, wanted: Mapping[int, tuple[int, float | None]], *, now_ms: int = 0) -> dict[int, Allowance]:
    """Ask for endpoints (id -> (requests wanted, limit a second or None)); takes or renews the drain lease of each.

    `now_ms` replaces the server's clock in tests.
    """
    answers = run("take", [_take(token, id, count, limit, now_ms) for id, (count, limit) in wanted.items()])
    return {
        id: Allowance(granted, wait_ms / 1000, why.decode(), float(interval_ms))
        for id, (granted, wait_ms, why, interval_ms) in zip(wanted, answers, strict=True)
    }


def report(tallies: Mapping[int, Tally], *, rng: random.Random | None = None, now_ms: int = 0) -> dict[int, str]:
    """Tell what became of requests; returns each endpoint's circuit afterwards: closed, open or half-open."""
    if not tallies:
        return {}
    chance = (rng or random).random
    answers = run("report", [_report(id, tally, chance(), now_ms) for id, tally in tallies.items()])
    circuits = {}
    for (id, tally), (after, before, *more) in zip(tallies.items(), answers, strict=True):
        circuits[id] = after.decode()
        _tell(id, tally, before.decode(), circuits[id], *more)
    return circuits


def _tell(id: int, tally: Tally, before: str, after: str, times_opened: int, probe_ms: int) -> None:
    if before == after:
        return
    change: dict[str, object] = {"endpoint_id": id, "from_state": before}
    if after == "open":
        counts = {"failures": tally.bad, "times_opened": times_opened, "probe_in_seconds": round(probe_ms / 1000, 1)}
        lines.CIRCUIT_OPENED.say(change | counts)
    else:
        lines.CIRCUIT_CLOSED.say(change | {"why": "the probe came through"})


def give_back(costs_ms: Mapping[int, float], probes: Collection[int] = (), *, now_ms: int = 0) -> None:
    """Return what a take granted and no request used, so that a trickle does not eat up the limit.

    `costs_ms` is what the unused requests of each endpoint cost of its limit; `probes` are the endpoints whose probe
    found nothing to send.
    """
    returned = {id for id, cost_ms in costs_ms.items() if cost_ms} | set(probes)
    run("give_back", [(keys(id, "flow"), [costs_ms.get(id, 0), int(id in probes), now_ms]) for id in returned])


def leave(token: str, endpoint_ids: Collection[int], *, now_ms: int = 0) -> set[int]:
    """Release the drain leases; returns the endpoints that somebody rang for in the meantime.

    Nobody is rung for an endpoint that is held or whose circuit is open, until that is over: its timer or the sweep
    comes then.
    """
    answers = run("leave", [(keys(id, "lease", "knock", "flow", "bell"), [token, now_ms]) for id in endpoint_ids])
    return {id for id, knocked in zip(endpoint_ids, answers, strict=True) if knocked}


def resume(endpoint_id: int, reason: str, *, afresh: bool = False, now_ms: int = 0) -> None:
    """Start a ramp; `afresh` also closes the circuit and forgets every hold, as when an endpoint is enabled again."""
    (closed,) = run("resume", [(keys(endpoint_id, "flow", "bell"), [reason, int(afresh), now_ms])])
    if closed:
        lines.CIRCUIT_CLOSED.say({"endpoint_id": endpoint_id, "from_state": closed.decode(), "why": reason})


def _take(token: str, id: int, count: int, limit: float | None, now_ms: int) -> Call:
    args: list[str | int | float] = [
        token,
        _ms(rules.LEASE_SECONDS),
        count,
        limit or 0,
        rules.BURST_SECONDS,
        _ms(rules.RAMP_SECONDS),
        rules.RAMP_FULL_PER_SECOND,
        _ms(rules.PROBE_SECONDS),
        now_ms,
    ]
    return keys(id, "lease", "knock", "flow"), args


def _report(id: int, tally: Tally, chance: float, now_ms: int) -> Call:
    hold = tally.hold_seconds
    args: list[str | int | float] = [
        tally.good,
        tally.bad,
        tally.streak,
        0 if hold is None else _ms(hold or rules.SLOW_DOWN_SECONDS),
        "asked for less",
        rules.OPEN_STREAK,
        rules.OPEN_SAMPLES,
        rules.OPEN_RATIO,
        _ms(rules.WINDOW_SECONDS),
        _ms(rules.FIRST_OPEN_SECONDS),
        _ms(rules.LONGEST_OPEN_SECONDS),
        chance,
        now_ms,
    ]
    return keys(id, "flow", "bell"), args


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
