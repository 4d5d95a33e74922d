"""Watch and stop redrives and replays from the command line."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from deliveries import operations
from deliveries.errors import OperationFinished
from deliveries.models import Operation
from endpoints.management.actor import command_actor

LISTED = 20


class Command(BaseCommand):
    help = "List redrives, discards and replays, show how far one has come, or stop it: what was not sent goes back."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help=f"The newest {LISTED}.")
        listing.add_argument("--json", action="store_true", help="Print a JSON array.")
        show = actions.add_parser("show", help="How far it has come.")
        stop = actions.add_parser("stop", help="Call back what was not sent yet.")
        for one in (show, stop):
            one.add_argument("id", type=int)
            one.add_argument("--json", action="store_true", help="Print a JSON object.")
        stop.add_argument("--dry-run", action="store_true", help="Only say how much would be called back.")

    def handle(self, *, action: str, **options: Any) -> None:
        if action == "list":
            rows = [_facts(operation) for operation in Operation.objects.all()[:LISTED]]
            self.stdout.write(json.dumps(rows) if options["json"] else "\n".join(map(_line, rows)))
            return
        operation = Operation.objects.filter(pk=options["id"]).first()
        if operation is None:
            raise CommandError(f"There is no operation {options['id']}.")
        if action == "stop" and not options["dry_run"]:
            try:
                operation = operations.stop(operation, actor=command_actor())
            except OperationFinished as error:
                raise CommandError(str(error)) from error
        facts = _facts(operation)
        self.stdout.write(json.dumps(facts) if options["json"] else _line(facts))


def _facts(operation: Operation) -> dict[str, Any]:
    progress = operations.progress(operation)
    return {
        "id": operation.pk,
        "kind": operation.kind,
        "actor": operation.actor,
        "rate_per_second": operation.rate_per_second,
        "moved": progress.moved,
        "waiting": progress.waiting,
        "withdrawn": progress.withdrawn,
        "seconds_left": round(progress.seconds_left, 1),
    }


def _line(facts: dict[str, Any]) -> str:
    rate = f" at {facts['rate_per_second']:g} a second" if facts["rate_per_second"] else ""
    return (
        f"{facts['id']}: {facts['kind']} by {facts['actor']}{rate}: {facts['moved']} moved, "
        f"{facts['waiting']} not sent yet, {facts['withdrawn']} called back; {facts['seconds_left']:.0f} s left."
    )
