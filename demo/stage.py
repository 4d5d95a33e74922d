"""Sets the stage of a run, in a place of its own, and clears it whatever happens."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.core.management import call_command

from demo import cast, place, screen
from demo.processes import Processes
from demo.receiver.client import ReceiverProcess
from endpoints.models import Endpoint, RetryPolicy
from webhooks_project import roles
from webhooks_project.leftovers import ChildRecord


@dataclass(slots=True)
class Stage:
    """What the steps of the story share; `log` is the receiver's, `endpoints` are by the name of their part."""

    receiver: ReceiverProcess
    log: Path
    processes: Processes
    endpoints: dict[str, Endpoint]


@contextmanager
def stage(folder: Path, checkout: Path, environment: Mapping[str, str]) -> Iterator[Stage]:
    """Start everything, with the logs in `folder`; end everything with the block.

    Raises StackRunning while another demo of this checkout runs, PlaceRefused and ProcessDied.
    """
    began = time.monotonic()
    where = place.place(environment["DATABASE_URL"], environment["REDIS_URL"])
    record = ChildRecord(folder)
    if ended := record.end_leftovers():
        screen.say(f"Ended {ended} processes of a demo that was killed.")
    log = folder / "receiver.jsonl"
    log.unlink(missing_ok=True)
    with ExitStack() as leaving:
        place.move_in(where)
        leaving.callback(place.move_out)
        receiver = leaving.enter_context(ReceiverProcess(log=log))
        processes = Processes(record, checkout, folder, _child_environment(where, environment))
        leaving.callback(processes.stop)
        endpoints = _start(processes, receiver)
        screen.say(
            f"A worker for healthy endpoints, one for slow ones, beat, and a receiver at {receiver.base_url}, with a "
            f"database ({place.DATABASE}) and a Redis database of their own: ready in {time.monotonic() - began:.1f} s."
        )
        screen.say(f"What they log is in {folder}.")
        yield Stage(receiver, log, processes, endpoints)


def _start(processes: Processes, receiver: ReceiverProcess) -> dict[str, Endpoint]:
    # Workers take as long to load as the tables take to make; beat reads its table at once.
    processes.start("healthy", roles.worker("healthy", roles.HEALTHY_QUEUES))
    processes.start("slow", roles.worker("slow", roles.SLOW_QUEUES))
    call_command("migrate", verbosity=0, interactive=False)
    processes.start("beat", roles.beat())
    endpoints = _create_endpoints(receiver)
    processes.await_workers(2)
    return endpoints


def _create_endpoints(receiver: ReceiverProcess) -> dict[str, Endpoint]:
    policies = {
        name: RetryPolicy.objects.create(name=name, deadline_seconds=seconds, **cast.POLICY)
        for name, seconds in cast.DEADLINES_SECONDS.items()
    }
    endpoints = {}
    for part in cast.CAST:
        if part.at_first:
            receiver.behave(part.name, part.at_first)
        endpoint = endpoints[part.name] = Endpoint.objects.create(
            tenant=cast.TENANT,
            url=receiver.url(part.path),
            description=part.description,
            retry_policy=policies[part.policy],
            timeout_seconds=part.timeout_seconds,
        )
        receiver.secret(part.name, *endpoint.signing_secrets.values_list("secret", flat=True))
    return endpoints


def _child_environment(where: place.Place, environment: Mapping[str, str]) -> dict[str, str]:
    # Celery warns at length about root; on a development machine in a container that is everybody.
    quiet = "ignore:You're running the worker with superuser privileges"
    return where.environment({**environment, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": quiet})
