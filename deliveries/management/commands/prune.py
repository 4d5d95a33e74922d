"""Delete what has been kept long enough."""

import json
from argparse import ArgumentParser
from dataclasses import asdict, replace
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from deliveries.models import Attempt, Event
from deliveries.prune import Retention, prune


class Command(BaseCommand):
    help = (
        "Delete old events with their deliveries, attempts and resolved dead letters, in short batches. Whatever is on "
        "its way, and every open dead letter, stays. Safe to stop; the next run goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, what in (("events", "events"), ("attempts", "attempts"), ("dead_letters", "resolved dead letters")):
            parser.add_argument(
                f"--{name.replace('_', '-')}-days", type=float, metavar="DAYS", help=f"Keep {what} so long."
            )
        parser.add_argument("--seconds", type=float, help="Stop after so long; without it, when nothing old is left.")
        parser.add_argument("--dry-run", action="store_true", help="Only count what is old.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, **options: Any) -> None:
        retention = Retention.configured()
        for kind in ("events", "attempts", "dead_letters"):
            days = options[f"{kind}_days"]
            if days is None:
                continue
            if days < 0:
                raise CommandError(f"--{kind.replace('_', '-')}-days: 0 or more.")
            retention = replace(retention, **{kind: days})
        now = timezone.now()
        if options["dry_run"]:
            figures = {
                "old_events": Event.objects.filter(created_at__lt=now - timedelta(days=retention.events)).count(),
                "old_attempts": Attempt.objects.filter(started_at__lt=now - timedelta(days=retention.attempts)).count(),
            }
        else:
            figures = asdict(prune(retention, now=now, budget_seconds=options["seconds"]))
        if options["json"]:
            self.stdout.write(json.dumps(figures | {"dry_run": options["dry_run"]}))
        else:
            self.stdout.write(", ".join(f"{name.replace('_', ' ')} {count}" for name, count in figures.items()))
