"""A run's servers, processes, receiver and endpoints together, and what its cruelties have in common."""

import random
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.core.management import call_command
from django.db import connection, transaction
from django.utils import timezone

from deliveries.models import Delivery
from deliveries.pacing.keys import keys
from deliveries.publishing import publish_many
from deliveries.redis_client import redis_client
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint, RetryPolicy
from tests.chaos import cast, publisher
from tests.chaos.crew import BEAT, COMMANDS, WORKERS, Crew
from tests.chaos.flight import Flight, in_flight
from tests.chaos.ground import Ground
from tests.chaos.publisher import Ledger
from tests.chaos.witness import Witness


@dataclass(slots=True)
class Stage:
    """`flights` are the requests that were in flight at any kill, `kills` how many processes were killed."""

    ground: Ground
    crew: Crew
    receiver: ReceiverProcess
    endpoints: dict[str, Endpoint]
    witness: Witness
    rng: random.Random
    hurry: bool
    ledger: Ledger
    kills: int = 0
    flights: set[Flight] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def kill(self, *names: str) -> None:
        """SIGKILL these processes of the crew at one moment, and note what was in flight. They stay down."""
        self.crew.kill(*names)
        self.count_kills(len(names))
        if not set(names) & set(WORKERS):
            return
        self.note_flight()
        if self.hurry:
            self._end_leases_of_the_dead()

    def count_kills(self, count: int) -> None:
        with self._lock:
            self.kills += count

    def note_flight(self) -> int:
        """Note what is in flight at this moment as possible duplicates; returns how many requests that are."""
        with self._lock:
            flights = in_flight(self.witness)
            self.flights |= flights
        return len(flights)

    def note_death(self, name: str) -> None:
        """A process died by itself, as one that met poison does. Called by the supervision's thread."""
        if name in WORKERS:
            self.count_kills(1)
            self.note_flight()
            connection.close()

    def burst(self, count: int, type: str = "order.placed", **data: object) -> list[str]:
        """Publish many events at once, so that whatever comes next hits a full batch; returns their ids."""
        with transaction.atomic():
            events = publish_many(
                {"type": type, "tenant": cast.TENANT, "data": {"burst": number, **data}} for number in range(count)
            )
        self.ledger.add(event.pk for event in events)
        return [event.pk for event in events]

    def say(self, note: str) -> None:
        """Something for the line that this cruelty gets in the report."""
        self.notes.append(note)

    def _end_leases_of_the_dead(self) -> None:
        """Short runs do not wait for half a minute of lease: what was under lease at a kill is taken back at once.

        Only for kills of every worker: a living one would lose its leases too.
        """
        if any(name in WORKERS for name in self.crew.running()):
            return
        stuck = Delivery.objects.filter(status="sending")
        stuck.update(lease_expires_at=timezone.now())
        marks = [key for endpoint in self.endpoints.values() for key in keys(endpoint.pk, "lease", "bell", "timer")]
        redis_client().delete(*marks)


@contextmanager
def staged(ground: Ground, logs: Path, options: Namespace) -> Iterator[Stage]:
    """Start everything, with its logs in that folder, and publish until the block ends."""
    log, ledger = logs / "receiver.jsonl", logs / "ledger"
    log.unlink(missing_ok=True)
    ledger.unlink(missing_ok=True)
    crew = Crew(logs, {**COMMANDS, "publisher": publisher.command(ledger, options.rate, options.seed)})
    try:
        # Workers take as long to load as the tables take to make.
        crew.start(*WORKERS)
        call_command("migrate", verbosity=0, interactive=False)
        with ReceiverProcess(log=log, options=["--keep", "1000"]) as receiver:
            receiver.behave("target", "ok")
            endpoints = _create_endpoints(receiver)
            witness = Witness(log, {part.path: endpoints[part.name].pk for part in cast.CAST})
            rng = random.Random(options.seed)
            stage = Stage(ground, crew, receiver, endpoints, witness, rng, options.hurry, Ledger(ledger))
            crew.start(BEAT, "publisher")
            crew.supervise(stage.note_death)
            crew.await_ready(*WORKERS)
            yield stage
            crew.end()
    finally:
        crew.end()


def _create_endpoints(receiver: ReceiverProcess) -> dict[str, Endpoint]:
    policies = {name: RetryPolicy.objects.create(name=name, **fields) for name, fields in cast.POLICIES.items()}
    return {
        part.name: Endpoint.objects.create(
            tenant=cast.TENANT,
            url=receiver.url(part.path),
            description=part.name,
            event_types=list(part.types),
            retry_policy=policies[part.policy],
            **part.fields,
        )
        for part in cast.CAST
    }
