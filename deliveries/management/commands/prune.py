"""Delete what has been kept long enough."""

import json
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from deliveries.prune import Retention, outlook, prune

KINDS: Final = {
    "events": "events with all that hangs on them",
    "dead_letters": "resolved dead letters",
    "attempts": "attempts",
}
MOST_DAYS: Final = 36_500


class Command(BaseCommand):
    help = (
        "Delete old events with their deliveries, attempts and resolved dead letters, in short batches. Whatever is on "
        "its way, and every open dead letter with its event, stays. Safe to stop at any moment; the next run goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        for kind, what in KINDS.items():
            parser.add_argument(
                _option(kind), type=float, metavar="DAYS", help=f"Keep {what} so long; by default as configured."
            )
        parser.add_argument("--seconds", type=float, help="Stop after so long; without it, when nothing old is left.")
        parser.add_argument("--dry-run", action="store_true", help="Only count what would go. May read many rows.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, **options: Any) -> None:
        retention, now = _retention(options), timezone.now()
        if (seconds := options["seconds"]) is not None and not seconds > 0:
            raise CommandError("--seconds: more than 0.")
        pruned = (
            outlook(retention, now=now) if options["dry_run"] else prune(retention, now=now, budget_seconds=seconds)
        )
        counts = {kind: getattr(pruned, kind) for kind in KINDS}
        if options["json"]:
            self.stdout.write(json.dumps({**counts, "is_complete": pruned.is_complete, "dry_run": options["dry_run"]}))
            return
        told = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in counts.items())
        if options["dry_run"]:
            self.stdout.write(f"Dry run, nothing is deleted. It would delete {told}.")
        else:
            rest = "" if pruned.is_complete else " The time is up and more is left: run it again."
            self.stdout.write(f"Deleted {told}.{rest}")


def _retention(options: dict[str, Any]) -> Retention:
    given = {kind: options[f"{kind}_days"] for kind in KINDS if options[f"{kind}_days"] is not None}
    for kind, days in given.items():
        if not 0 <= days <= MOST_DAYS:
            raise CommandError(f"{_option(kind)}: from 0 to {MOST_DAYS:,} days.")
    return replace(Retention.configured(), **given)


def _option(kind: str) -> str:
    return f"--{kind.replace('_', '-')}-days"
