"""Publish an event from the command line."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from deliveries import publish
from deliveries.errors import IdempotencyConflict, InvalidEvent


class Command(BaseCommand):
    help = "Record an event and its deliveries; prints the event's id and the number of deliveries."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("type", help="The event type, such as payment.completed.")
        data = parser.add_mutually_exclusive_group(required=True)
        data.add_argument("--data", metavar="JSON", help="The data: a JSON object or array.")
        data.add_argument("--file", metavar="PATH", help="Read the data from a file; - reads standard input.")
        parser.add_argument("--tenant", default="", help="Whose event it is.")
        parser.add_argument("--id", help="An id of your own: the same id and content again sends nothing twice.")
        parser.add_argument("--dry-run", action="store_true", help="Check it and count its deliveries; record nothing.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, *, type: str, **options: Any) -> None:
        data = _data(options["data"], options["file"])
        try:
            with transaction.atomic():
                event = publish(type, data, tenant=options["tenant"], id=options["id"])
                count = event.deliveries.count()
                transaction.set_rollback(options["dry_run"])
        except InvalidEvent as error:
            raise CommandError(_named(error)) from error
        except IdempotencyConflict as error:
            raise CommandError(f"id: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps({"id": event.pk, "deliveries": count, "dry_run": options["dry_run"]}))
        elif options["dry_run"]:
            self.stdout.write(f"It would get {count} deliveries.")
        else:
            self.stdout.write(f"{event.pk} {count} deliveries")


def _named(error: InvalidEvent) -> str:
    """The message, the field and the rule; messages about the data name their path already."""
    message = str(error)
    return f"{message if message.startswith(error.field) else f'{error.field}: {message}'} ({error.rule})"


def _data(text: str | None, path: str | None) -> Any:
    try:
        if text is None:
            text = sys.stdin.read() if path == "-" else Path(str(path)).read_text(encoding="utf-8")
        return json.loads(text)
    except OSError as error:
        raise CommandError(f"--file: {error.strerror}: {path}") from error
    except ValueError as error:
        raise CommandError(f"data: not JSON in UTF-8: {error}") from error
    except RecursionError as error:
        raise CommandError("data: nested too deeply") from error
