"""Run the sweeps now, as beat would."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand

from deliveries.sweeps import alarms, certificates, due, expired, health, lapsed, notices, outlook, probes, unannounced

SWEEPS: Final[dict[str, Callable[[], Any]]] = {
    "lapsed": lapsed.sweep,
    "expired": expired.sweep,
    "unannounced": unannounced.sweep,
    "due": due.sweep,
    "health": health.sweep,
    "probes": probes.sweep,
    "certificates": certificates.sweep,
    "alarms": alarms.sweep,
    "notices": notices.sweep,
}


class Command(BaseCommand):
    help = "Run one sweep or all of those that repair, judge and tell."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("duty", nargs="?", choices=list(SWEEPS), help="Only this one.")
        parser.add_argument("--dry-run", action="store_true", help="Only count what they would find.")
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, *, duty: str | None, **options: Any) -> None:
        duties = [duty] if duty else list(SWEEPS)
        if options["dry_run"]:
            found: dict[str, Any] = {name: {"found": outlook.COUNTS[name]()} for name in duties}
        else:
            found = {name: asdict(SWEEPS[name]()) for name in duties}
        if options["json"]:
            self.stdout.write(json.dumps(found | {"dry_run": options["dry_run"]}))
            return
        for name, figures in found.items():
            self.stdout.write(f"{name}: {', '.join(f'{key} {value}' for key, value in figures.items())}")
