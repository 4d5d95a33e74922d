"""The state of the pipeline at a glance."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand

from deliveries.watch.survey import Survey, survey


class Command(BaseCommand):
    help = "Say whether work moves: ages, depths, sweeps, workers. Exit status 1 when something is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, **options: Any) -> None:
        found = survey()
        if options["json"]:
            self.stdout.write(json.dumps({"healthy": found.is_healthy, **asdict(found)}))
        else:
            for line in _lines(found):
                self.stdout.write(line)
        if not found.is_healthy:
            sys.exit(1)


def _lines(found: Survey) -> list[str]:
    last = ", ".join(f"{duty} {_age(age)} ago" for duty, age in sorted(found.seconds_since.items()))
    lines = ["Healthy: work moves." if found.is_healthy else "NOT healthy:"]
    lines += [f"  {problem}" for problem in found.problems]
    lines += [
        "",
        f"Deliveries   {found.pending:,} pending, {found.sending:,} being sent",
        f"Due now      {found.endpoints_with_due_work:,} endpoints, oldest {_age(found.oldest_due_seconds)}",
        f"Dead letters {found.open_dead_letters:,} open, oldest {_age(found.oldest_open_dead_letter_seconds)}",
        f"Endpoints    {_pairs(found.endpoints)}",
        f"Queues       {_pairs(found.queue_depths)}",
        f"Last         {last or '-'}",
        f"Workers      {len(found.workers)}",
    ]
    return lines + [
        f"  {worker['name']}: {', '.join(worker['queues'])}; seen {_age(worker['seen_seconds_ago'])} ago"
        for worker in found.workers
    ]


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "-"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
