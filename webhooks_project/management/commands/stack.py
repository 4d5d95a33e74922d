"""`manage.py stack`: everything Holdfast needs, in one terminal."""

import os
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from webhooks_project import embedded, roles
from webhooks_project.children import Child, say
from webhooks_project.first_admin import ensure_first_admin
from webhooks_project.leftovers import ChildRecord, StackRunning
from webhooks_project.ports import free_port
from webhooks_project.supervisor import Supervisor


class Command(BaseCommand):
    """Runs web server, workers, beat and (on request) the demo receiver until Ctrl-C."""

    help = (
        "Migrate, then run the whole stack in this terminal: web server, a worker for healthy endpoints, one for slow "
        "ones, one for received events, beat, and with --receiver the demo receiver. Ctrl-C ends all of it, after the "
        "work in hand."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", type=int, default=8000, help="port of the web server (default 8000)")
        parser.add_argument("--receiver", action="store_true", help="run the demo receiver as well")
        parser.add_argument("--receiver-port", type=int, default=9000, help="port of the demo receiver (default 9000)")
        parser.add_argument("--no-migrate", action="store_true", help="do not migrate the database first")
        parser.add_argument(
            "--stop-seconds", type=float, default=30.0, help="time for the work in hand at the end (default 30)"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until told to stop; exit status 1 when another stack of this checkout is running."""
        try:
            record = ChildRecord(settings.DATA_DIR)
        except StackRunning as error:
            raise CommandError(str(error)) from error
        if ended := record.end_leftovers():
            say("stack", f"ended {ended} processes that a killed stack had left running")
        if not options["no_migrate"]:
            call_command("migrate", verbosity=0, interactive=False)
        children = _children(options)
        if settings.DEBUG and settings.EMBEDDED:
            say("stack", ensure_first_admin(settings.DATA_DIR))
        connections.close_all()
        Supervisor(
            children=children,
            record=record,
            folder=settings.BASE_DIR,
            environment=_environment(),
            stop_seconds=options["stop_seconds"],
            tend=embedded.revive,
        ).run()


def _environment() -> dict[str, str]:
    # Celery warns at length about root; on a development machine in a container that is everybody.
    quiet = "ignore:You're running the worker with superuser privileges"
    warnings = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), quiet]))
    return {**roles.ENVIRONMENT, **os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": warnings}


def _children(options: dict[str, Any]) -> list[Child]:
    children = []
    if options["receiver"]:
        port = _port("receiver", options["receiver_port"])
        children.append(Child("receiver", roles.receiver(port), serves_others=True))
        say("stack", f"demo receiver  http://127.0.0.1:{port}/")
    port = _port("web", options["port"])
    say("stack", f"admin          http://127.0.0.1:{port}/admin/")
    return [
        *children,
        Child("web", roles.web(port)),
        Child("healthy", roles.worker("healthy", roles.HEALTHY_QUEUES)),
        Child("slow", roles.worker("slow", roles.SLOW_QUEUES)),
        Child("inbox", roles.worker("inbox", roles.INBOX_QUEUES)),
        Child("beat", roles.beat()),
    ]


def _port(name: str, wanted: int) -> int:
    port = free_port(wanted)
    if port != wanted:
        say("stack", f"port {wanted} is in use; {name} takes {port}")
    return port
