"""Does every event have its effect exactly once, whatever dies on the way?

Holdfast delivers to itself: the real workers and beat send 5,000 events to the inbox's door, served as in production,
and a worker processes what comes in. A handler writes one row for each event. The door loses answers or replaces them
by errors, before and after it stored the event; handlers fail after they wrote; and one process after another is
killed. In the end each event must have exactly one row.
"""

import os
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from django.db import connection, connections

from bench.errors import BenchFailed, PromiseBroken
from deliveries.models import Attempt, Delivery
from deliveries.publishing import publish_many
from endpoints.models import Endpoint, RetryPolicy
from inbox.models import ReceivedEvent, Source
from tests.bookshop.accounts import account
from tests.bookshop.faults import SHARE_HEADER
from tests.bookshop.inbox_handlers import LOOPBACK
from tests.bookshop.models import Effect
from tests.chaos.crew import COMMANDS, WORKERS, Crew
from webhooks_project import roles
from webhooks_project.ports import unused_port

EVENTS: Final = 5_000
KILLS: Final = 15
VICTIMS: Final = ("inbox", "healthy1", "web", "inbox", "healthy2")
"""The web server least often: each time the circuits of all endpoints open, longer at every probe that fails."""

ENDPOINTS: Final = 6
"""Several, as a killed worker's endpoint waits for its lease: the others go on meanwhile."""

FAULT_SHARE: Final = 0.03
"""Of the door's answers. So few that they open no circuit; the kills of the web server do."""

STALL_SECONDS: Final = 10.0
"""Without progress for so long the next kill comes all the same: what recovers shall be killed as well."""

END_SECONDS: Final = 900.0
LOOK_SECONDS: Final = 0.1


def run() -> dict[str, float]:
    """Run it, print what happened and return the figures. Raises PromiseBroken, with them, when the count is off."""
    events = int(os.environ.get("BENCH_EVENTS") or EVENTS)
    kills = int(os.environ.get("BENCH_KILLS") or KILLS)
    with connection.schema_editor() as editor:
        editor.create_model(Effect)
    port = unused_port()
    _connect_to_itself(port)
    ids = [event.pk for event in publish_many(_event(number) for number in range(events))]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="holdfast-loopback-") as folder:
        crew = _crew(Path(folder), port)
        try:
            killed = _kill_on(crew, events, kills)
            _wait_until_final()
        finally:
            crew.end()
    found = account(LOOPBACK, ids)
    figures: dict[str, float] = {
        "events": events,
        "effects": found.effects,
        "missing": len(found.missing),
        "doubled": len(found.doubled),
        "kills": killed,
    }
    _print(figures, time.monotonic() - began)
    if found.missing or found.doubled or found.effects != events or not killed:
        raise PromiseBroken("Not every event had its effect exactly once.", figures)
    return figures


def _connect_to_itself(port: int) -> None:
    source = Source.objects.create(slug=LOOPBACK, scheme="standard-webhooks", concurrency=4)
    policy = RetryPolicy.objects.create(
        name="loopback", kind="exponential", base_seconds=1, cap_seconds=5, max_attempts=100, deadline_seconds=3600
    )
    for number in range(ENDPOINTS):
        endpoint = Endpoint.objects.create(
            url=f"http://127.0.0.1:{port}/inbox/{LOOPBACK}/",
            tenant=_tenant(number),
            retry_policy=policy,
            headers={SHARE_HEADER: str(FAULT_SHARE)},
        )
        source.secrets.create(secret=endpoint.signing_secrets.get().secret)


def _crew(folder: Path, port: int) -> Crew:
    """The whole stack, started."""
    receiving = {
        "inbox": roles.worker("inbox", roles.INBOX_QUEUES),
        "web": roles.web_server(f"127.0.0.1:{port}", processes=1),
    }
    crew = Crew(folder, {**COMMANDS, **receiving})
    # Their own connection would only stand in the way of the processes.
    connections.close_all()
    try:
        for name in crew.commands:
            crew.start(name, DJANGO_SETTINGS_MODULE="tests.production_settings")
        crew.await_ready(*WORKERS, "inbox")
        crew.await_ready("web", sign="Booting worker")
        crew.supervise(lambda name: None)
    except BaseException:
        crew.end()
        raise
    return crew


def _kill_on(crew: Crew, events: int, kills: int) -> int:
    """SIGKILL one process after another while the effects come in; returns how many were killed."""
    killed = 0
    for name in islice(cycle(VICTIMS), kills):
        _wait_for_effects((killed + 1) * events // (kills + 1))
        crew.kill(name)
        killed += 1
        print(f"  {_effects():>6,} effects, killed {name}", flush=True)
        crew.start(name, DJANGO_SETTINGS_MODULE="tests.production_settings")
    return killed


def _wait_for_effects(count: int) -> None:
    seen, since = _effects(), time.monotonic()
    while seen < count and time.monotonic() - since < STALL_SECONDS:
        time.sleep(LOOK_SECONDS)
        if (now := _effects()) > seen:
            seen, since = now, time.monotonic()


def _wait_until_final() -> None:
    """Until every delivery and every received event has ended, so that no effect can follow."""
    deadline = time.monotonic() + END_SECONDS
    while _is_moving():
        if time.monotonic() > deadline:
            raise BenchFailed(f"It did not come to an end within {END_SECONDS:g} s: {_effects():,} effects.")
        time.sleep(LOOK_SECONDS)


def _is_moving() -> bool:
    if Delivery.objects.filter(status__in=["pending", "sending"]).exists():
        return True
    return ReceivedEvent.objects.filter(status__in=["received", "processing"]).exists()


def _effects() -> int:
    return Effect.objects.count()


def _event(number: int) -> dict[str, object]:
    return {"type": "loop.closed", "tenant": _tenant(number % ENDPOINTS), "data": {"number": number}}


def _tenant(number: int) -> str:
    return f"loopback-{number}"


def _print(figures: dict[str, float], seconds: float) -> None:
    failed = Attempt.objects.exclude(outcome="delivered").count()
    again = ReceivedEvent.objects.filter(attempt_count__gt=1).count()
    repeats = sum(ReceivedEvent.objects.values_list("duplicates", flat=True))
    print(f"\nLoopback: {figures['events']:,} events in {seconds:.0f} s, {figures['kills']} kills.")
    print(f"{failed:,} attempts failed; the door saw {repeats:,} repeats; {again:,} handlers ran again.\n")
