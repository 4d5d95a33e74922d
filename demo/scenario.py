"""The story of the demo, step by step."""

import logging
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from deliveries import publish_many
from deliveries.models import DeadLetter, Delivery, Event, Resolution
from deliveries.redrive import redrive
from deliveries.statuses import Status
from demo import cast, figures, proof, screen
from demo.cast import Part
from demo.figures import Standing
from demo.progress import Progress
from demo.stage import Stage, stage
from demo.table import table
from endpoints import availability
from endpoints.models import State

ACTOR: Final = "demo"
LOOK_SECONDS: Final = 0.2
PATIENCE_SECONDS: Final = 180.0
"""Well beyond the retry policy's deadline: what is not final by then never will be, and counts as lost."""


def run(folder: Path, checkout: Path, environment: Mapping[str, str]) -> int:
    """Play the whole story with its logs in `folder`; returns the exit status.

    Raises StackRunning, PlaceRefused or ProcessDied, and KeyboardInterrupt at SIGINT, SIGTERM and SIGHUP; whatever
    happens, all that was started has ended by then.
    """
    began = time.monotonic()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    logging.getLogger().setLevel(logging.WARNING)
    screen.prepare()
    screen.line("Holdfast demo")
    screen.line(f"{cast.EVENTS} events, seven endpoints that answer in seven ways, one promise: nothing is lost.")
    screen.heading("1  Start the stack")
    with stage(folder, checkout, environment) as ours:
        screen.heading(f"2  Publish {cast.EVENTS} events")
        events = _publish()
        screen.heading("3  One endpoint says it is gone")
        _retire_the_gone(ours)
        screen.heading("4  Deliver to the others, and retry what can be retried")
        _await_final(ours)
        screen.heading("5  What became of them")
        _print_table(ours)
        screen.heading("6  Mend a receiver, redrive its dead letters")
        redriven = _mend_and_redrive(ours)
        screen.heading("7  Prove it")
        found = proof.prove(ours, events)
        screen.heading("Nothing was lost." if found.holds else "A promise was broken: see step 7.")
        screen.line(proof.result(found, redriven, time.monotonic() - began))
    return 0 if found.holds else 1


def _publish() -> list[Event]:
    screen.lines(
        table(["endpoint", "answers", "so we expect"], [[p.name, p.answers, p.expectation] for p in cast.CAST])
    )
    began = time.monotonic()
    events = publish_many(cast.events())
    screen.say(
        f"Recorded in one transaction, in {time.monotonic() - began:.2f} s, with a delivery for each endpoint: "
        f"{Delivery.objects.count():,} deliveries. From here on no crash loses any of them."
    )
    return events


def _retire_the_gone(ours: Stage) -> None:
    gone = ours.endpoints[cast.GONE.name]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while gone.state == State.ACTIVE and time.monotonic() < deadline:
        ours.processes.check()
        time.sleep(LOOK_SECONDS)
        gone.refresh_from_db()
    screen.say(
        f"{gone.state_reason} So {gone.state_changed_by} made it {gone.state}: it gets no more requests, and the "
        f"{figures.held(gone.pk)} deliveries left are held in case a person enables it again."
    )
    availability.archive(gone, actor=ACTOR, reason="The demo retires the endpoint that is gone.")
    screen.say(
        "We archive it instead: the next sweep turns what it held into dead letters, as nothing may just vanish."
    )


def _await_final(ours: Stage) -> None:
    began = time.monotonic()
    progress = Progress(cast.DELIVERIES)
    while True:
        statuses, seconds = figures.count_statuses(), time.monotonic() - began
        is_over = not figures.unfinished(statuses) or seconds > PATIENCE_SECONDS
        progress.show(statuses, seconds, is_last=is_over)
        if is_over:
            return
        ours.processes.check()
        time.sleep(LOOK_SECONDS)


def _print_table(ours: Stage) -> None:
    header = ["endpoint", "answers", "delivered", "dead", "attempts", "p50", "p95", "dead letters say"]
    standings = figures.standings()
    rows = [_row(part, standings[ours.endpoints[part.name].pk]) for part in cast.CAST]
    screen.lines(table(header, rows, right=(2, 3, 4, 5, 6)))
    screen.say("p50 and p95: half, and 95 %, of the deliveries were delivered or dead so soon after publishing.")


def _row(part: Part, standing: Standing) -> list[str]:
    counts = (standing.statuses[Status.DELIVERED], standing.statuses[Status.DEAD], standing.attempts)
    return [
        part.name,
        part.answers,
        *(f"{count:,}" for count in counts),
        *(f"{figures.percentile(standing.seconds, percent):.1f} s" for percent in (50, 95)),
        ", ".join(f"{kind} {count}" for kind, count in standing.deaths.most_common()),
    ]


def _mend_and_redrive(ours: Stage) -> int:
    picky = ours.endpoints[cast.PICKY.name]
    ours.receiver.behave(cast.PICKY.name, "ok")
    letters = DeadLetter.objects.filter(endpoint=picky, resolution=Resolution.OPEN)
    operation = redrive(letters, actor=ACTOR, note="The receiver was mended.", selection="The open ones of picky.")
    screen.say(
        f"{cast.PICKY.name} answers 200 now. {operation.moved} of its dead letters went back to work with a fresh "
        f"budget; operation {operation.pk} keeps who asked, when and why."
    )
    _await_final(ours)
    return operation.moved
