"""Replay events from the command line."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from deliveries.management.report import operation_text, preview_text
from deliveries.management.selection import (
    add_time_and_type_arguments,
    checked_rate,
    existing_endpoint,
    in_words,
    selected_events,
)
from deliveries.replay import preview_replay_events, replay_events
from endpoints.management.actor import command_actor


class Command(BaseCommand):
    help = (
        "Send events again, same id and bytes, to every endpoint that subscribes to them now, or with --endpoint to "
        "one. Endpoints that have no delivery of an event yet get their first."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", metavar="EVENT", help="Events by id.")
        add_time_and_type_arguments(parser)
        parser.add_argument("--tenant", help="Only this tenant's events.")
        parser.add_argument("--missed", action="store_true", help="Only where an endpoint has no delivery yet.")
        parser.add_argument("--note", default="", help="Why; kept with the operation.")
        parser.add_argument("--rate", type=float, metavar="N", help="N deliveries a second; without it, all at once.")
        parser.add_argument("--dry-run", action="store_true", help="Only say what would happen.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, **options: Any) -> None:
        endpoint = None if options["endpoint"] is None else existing_endpoint(options["endpoint"])
        chosen = selected_events(options, endpoint)
        endpoint_ids = None if endpoint is None else [endpoint.pk]
        if options["dry_run"]:
            seen = preview_replay_events(chosen, endpoint_ids=endpoint_ids, missed_only=options["missed"])
            figures = {"sent_again": seen.ready, "missed": seen.missed, "of_them_waiting_for_their_endpoint": seen.held}
            self.stdout.write(preview_text("replay", seen.refusals, figures, as_json=options["json"]))
            return
        operation = replay_events(
            chosen,
            actor=command_actor(),
            note=options["note"],
            selection=in_words(options, "events"),
            endpoint_ids=endpoint_ids,
            missed_only=options["missed"],
            rate_per_second=checked_rate(options["rate"]),
        )
        self.stdout.write(operation_text(operation, as_json=options["json"]))
