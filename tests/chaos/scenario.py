"""One cruelty after another, then the account."""

import json
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, Final

from tests.chaos import cast, quiet
from tests.chaos.account import Account, settle_up
from tests.chaos.cruelties import ALL, BY_NAME, Cruelty
from tests.chaos.ground import Ground
from tests.chaos.recovery import await_any_delivery, await_deliveries, expect_status
from tests.chaos.stage import Stage, staged

WARM_UP_SECONDS: Final = 3.0
POISON: Final = 70
"""The status of a process that met the poisoned event (`hooks/sitecustomize.py`); no other death is in order."""

BETWEEN_SECONDS: Final = (2.0, 7.0)


@dataclass(slots=True)
class Ordeal:
    """What one cruelty led to. `back_seconds`: from its end to the first delivery; `slowest`: everywhere."""

    name: str
    at: float
    lasted: float
    in_flight: int
    back_seconds: float | None
    slowest: float | None
    notes: list[str]
    faults: list[str]

    def line(self) -> str:
        """For people."""
        back = "never" if self.back_seconds is None else f"{self.back_seconds:.1f} s"
        everywhere = f", everywhere after {self.slowest:.1f} s" if self.slowest is not None else ""
        text = (
            f"{self.at:6.1f} s  {self.name:<18} lasted {self.lasted:4.1f} s, {self.in_flight:3d} in flight, "
            f"back after {back}{everywhere}"
        )
        return "; ".join([text, *self.notes]) + "".join(f"\n          FAULT: {fault}" for fault in self.faults)


def run(ground: Ground, options: Namespace) -> int:
    """The exit status: 0 when nothing was lost and nothing else is at fault."""
    began = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    logs = options.logs or ground.folder
    logs.mkdir(parents=True, exist_ok=True)
    with staged(ground, logs, options) as stage:
        quiet.await_first_deliveries(stage)
        expect_status(stage, healthy=True)
        before = quiet.broker_bytes()
        started = time.monotonic()
        chosen = [BY_NAME[name] for name in options.only.split(",") if name]
        ordeals = []
        for cruelty in chosen or _deck(stage.rng, started + options.seconds):
            time.sleep(stage.rng.uniform(*BETWEEN_SECONDS) if not chosen else 0.5)
            ordeal = _inflict(stage, cruelty, started, everywhere=bool(chosen))
            print(ordeal.line(), flush=True)
            ordeals.append(ordeal)
        stage.crew.stop("publisher")
        for fault in quiet.settle_down(stage, before):
            stage.faults.append(fault)
        if chosen or options.seconds > 30:
            expect_status(stage, healthy=True)
        account = settle_up(
            logs / "ledger",
            stage.witness,
            {name: endpoint.pk for name, endpoint in stage.endpoints.items()},
            stage.flights,
        )
    faults = [*stage.faults, *account.faults]
    faults += [
        f"{name} ended by itself, with status {status}" for name, status in stage.crew.deaths if status != POISON
    ]
    result = _result(options.seed, account, stage, time.monotonic() - began)
    if options.report:
        report = {"ordeals": [asdict(ordeal) for ordeal in ordeals], "faults": faults, "result": result}
        options.report.write_text(json.dumps(report))
    print(_summary(account, stage, faults), flush=True)
    print(json.dumps(result), flush=True)
    return int(bool(faults))


def _deck(rng: Random, ends_at: float) -> Iterator[Cruelty]:
    """Every cruelty comes, as often as it weighs, before any comes again; until the time is over."""
    while True:
        deck = [cruelty for cruelty in ALL for _ in range(cruelty.weight)]
        rng.shuffle(deck)
        # Its story takes minutes, so it comes early.
        deck.sort(key=lambda cruelty: cruelty.name != "poison")
        for cruelty in deck:
            if time.monotonic() >= ends_at:
                return
            yield cruelty


def _inflict(stage: Stage, cruelty: Cruelty, started: float, *, everywhere: bool) -> Ordeal:
    stage.notes = []
    flights, faults, began = len(stage.flights), len(stage.faults), time.monotonic()
    cruelty.act(stage)
    over = time.monotonic()
    if everywhere:
        took = await_deliveries(stage, cast.STEADY, over)
        back, slowest = (min(took.values()), max(took.values())) if took else (None, None)
    else:
        back, slowest = await_any_delivery(stage, over), None
    return Ordeal(
        cruelty.name,
        began - started,
        over - began,
        len(stage.flights) - flights,
        back,
        slowest,
        stage.notes,
        stage.faults[faults:],
    )


def _result(seed: int, account: Account, stage: Stage, seconds: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "events": account.events,
        "deliveries": account.deliveries,
        "delivered": account.delivered,
        "dead": account.dead,
        "lost": account.lost,
        "duplicates": account.duplicates,
        "in_flight_at_kills": len(stage.flights),
        "kills": stage.kills,
        "seconds": round(seconds, 1),
    }


def _summary(account: Account, stage: Stage, faults: list[str]) -> str:
    lines = [
        "",
        f"{account.events:,} events, {account.deliveries:,} deliveries: {account.delivered:,} delivered, "
        f"{account.dead:,} dead letters ({account.dead_by_endpoint}), {account.lost} lost",
        f"{account.requests:,} requests in {account.attempts:,} attempts, {account.lapsed:,} of which lapsed",
        f"{stage.kills} kills, {len(stage.flights)} requests in flight at them, {account.duplicates} arrived twice",
        f"deaths nobody ordered: {stage.crew.deaths or 'none'}",
    ]
    return "\n".join(lines + [f"FAULT: {fault}" for fault in faults])
