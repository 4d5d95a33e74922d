"""Redrive dead letters from the command line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from deliveries.errors import HoldfastError
from deliveries.management.report import operation_text, preview_text
from deliveries.management.selection import (
    add_dead_letter_arguments,
    checked_rate,
    in_words,
    selected_dead_letters,
)
from deliveries.order import order_notes
from deliveries.redrive import preview_redrive, redrive
from endpoints.management.actor import command_actor


class Command(BaseCommand):
    help = "Send open dead letters back to work, with a fresh budget and deadline. Asks nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_dead_letter_arguments(parser)
        parser.add_argument("--note", default="", help="Why; kept with the operation.")
        parser.add_argument("--rate", type=float, metavar="N", help="N deliveries a second; without it, all at once.")
        parser.add_argument("--dry-run", action="store_true", help="Only say what would happen.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, **options: Any) -> None:
        chosen = selected_dead_letters(options)
        # What a redrive does to a strict order is said before it is done.
        notes = order_notes(chosen)
        for note in notes:
            self.stderr.write(self.style.WARNING(note))
        if options["dry_run"]:
            seen = preview_redrive(chosen)
            figures = {"ready": seen.ready, "of_them_waiting_for_their_endpoint": seen.held}
            self.stdout.write(preview_text("redrive", seen.refusals, figures, as_json=options["json"]))
            return
        words = in_words(options, "dead letters")
        try:
            operation = redrive(
                chosen,
                actor=command_actor(),
                note=options["note"],
                selection=words,
                rate_per_second=checked_rate(options["rate"]),
            )
        except HoldfastError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(operation_text(operation, as_json=options["json"]))
        if options["ids"] and not operation.moved:
            raise CommandError("None of the dead letters could be redriven.")
