"""How fast does the inbox answer, whatever its handlers do?

Signed Standard Webhooks at 200 requests a second against gunicorn as in production (one process, four threads), every
tenth of them a repeat. Meanwhile a worker processes what comes in, with handlers that are slow and that fail. The time
of a request counts from the moment it was due.
"""

import asyncio
import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import quantiles

from django.db import connection
from django.db.models import Sum

from bench.crew import Crew
from bench.door_app.inbox_handlers import SOURCE
from bench.errors import BenchFailed
from bench.knocking import Knock, knock
from bench.legs.celery_leash import leashed_worker
from endpoints.signing import new_secret, sign
from inbox.models import ReceivedEvent, Source
from webhooks_project import roles
from webhooks_project.ports import unused_port

PER_SECOND = 200.0
SECONDS = 15.0
WARM_UP_SECONDS = 3.0
CONNECTIONS = 16
REPEAT_EVERY = 10
TYPES = ("slow", "failing", "slow", "unhandled")


def run() -> dict[str, float]:
    """Measure, print a table and return the figures. Raises BenchFailed."""
    seconds = float(os.environ.get("BENCH_SECONDS") or SECONDS)
    secret = new_secret()
    source = Source.objects.create(slug=SOURCE, scheme="standard-webhooks")
    source.secrets.create(secret=secret)
    with _stack() as port:
        asyncio.run(knock(port, _requests(secret, "warm", WARM_UP_SECONDS), PER_SECOND, CONNECTIONS))
        knocks = asyncio.run(knock(port, _requests(secret, "counted", seconds), PER_SECOND, CONNECTIONS))
    statuses = Counter(each.status for each in knocks)
    if set(statuses) != {200}:
        raise BenchFailed(f"The door answered {dict(statuses)}.")
    events = ReceivedEvent.objects.filter(event_id__startswith="counted-")
    duplicates = events.aggregate(again=Sum("duplicates"))["again"]
    if events.count() + duplicates != len(knocks):
        raise BenchFailed(f"{len(knocks)} were answered 200, {events.count()} and {duplicates} repeats are stored.")
    p95 = _print(knocks, seconds)
    return {"p95_ms": round(p95, 2), "accepted": events.count(), "duplicates": duplicates}


@contextmanager
def _stack() -> Iterator[int]:
    """The web process and a worker for what it lets in; gives the port."""
    port = unused_port()
    settings = ["env", "DJANGO_SETTINGS_MODULE=bench.door_settings"]
    web = [*settings, *roles.web_server(f"127.0.0.1:{port}", processes=1)]
    web += ["--config", "python:bench.door_gunicorn", "--log-level", "warning"]
    commands = [web, [*settings, *leashed_worker("bench-inbox", roles.INBOX_QUEUES)]]
    # Its own connection would only stand in the way of the processes.
    connection.close()
    with Crew(lambda number: commands[number - 1], len(commands)) as crew:
        crew.wait_ready()
        _wait_for(port)
        yield port
        crew.check()


def _requests(secret: str, name: str, seconds: float) -> Sequence[bytes]:
    timestamp = int(time.time())
    made: list[bytes] = []
    for number in range(int(PER_SECOND * seconds)):
        if number % REPEAT_EVERY == REPEAT_EVERY - 1:
            made.append(made[-1])
        else:
            made.append(_request(secret, f"{name}-{number}", timestamp, TYPES[number % len(TYPES)]))
    return made


def _request(secret: str, id: str, timestamp: int, type: str) -> bytes:
    body = json.dumps({"type": type, "data": {"number": id, "padding": "x" * 600}}).encode()
    head = (
        f"POST /inbox/{SOURCE}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nwebhook-id: {id}\r\nwebhook-timestamp: {timestamp}\r\n"
        f"webhook-signature: {sign([secret], id, timestamp, body)}\r\n\r\n"
    )
    return head.encode() + body


def _wait_for(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise BenchFailed("gunicorn does not answer.")


def _print(knocks: list[Knock], seconds: float) -> float:
    cuts = quantiles([each.milliseconds for each in knocks], n=100)
    print(f"Door: {PER_SECOND:g} requests/s for {seconds:g} s, one in {REPEAT_EVERY} a repeat.\n")
    print(f"{'median':>10}{'p90':>10}{'p95':>10}{'p99':>10}{'slowest':>10}")
    slowest = max(each.milliseconds for each in knocks)
    print("".join(f"{value:>7.1f} ms" for value in (cuts[49], cuts[89], cuts[94], cuts[98], slowest)) + "\n")
    return cuts[94]
