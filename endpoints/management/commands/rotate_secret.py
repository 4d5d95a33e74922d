"""Give an endpoint a new signing secret from the command line."""

import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from endpoints.errors import TransitionRefused
from endpoints.management.actor import command_actor
from endpoints.rotation import DEFAULT_OVERLAP, rotate


class Command(BaseCommand):
    help = "Make a new signing secret for an endpoint and print it, once. The old ones sign on for the overlap."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("endpoint", type=int, help="The endpoint's number.")
        default = DEFAULT_OVERLAP / timedelta(hours=1)
        parser.add_argument(
            "--overlap-hours",
            type=float,
            default=default,
            help=f"How long old secrets still sign beside it, 0 to 720; {default:g} by default.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Only say whether it could be done.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, *, endpoint: int, overlap_hours: float, **options: Any) -> None:
        try:
            with transaction.atomic():
                overlap = timedelta(hours=overlap_hours)
                made = rotate(endpoint, actor=command_actor(), overlap=overlap)
                transaction.set_rollback(options["dry_run"])
        except (TransitionRefused, ValueError, OverflowError) as error:
            raise CommandError(str(error)) from error
        if options["dry_run"]:
            self.stdout.write(json.dumps({"dry_run": True}) if options["json"] else "It would be rotated.")
            return
        if options["json"]:
            self.stdout.write(json.dumps({"fingerprint": made.fingerprint, "secret": made.secret}))
            return
        # The secret alone on standard output: it can be piped to where it is needed without passing a screen.
        self.stdout.write(made.secret)
        self.stderr.write(f"New secret {made.fingerprint}; the old ones sign on for {overlap_hours:g} h.")
