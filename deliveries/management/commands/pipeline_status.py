"""The state of the pipeline at a glance."""

import contextlib
import json
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from deliveries.watch.survey import COUNTED, Survey, survey

CLEAR_SCREEN: Final = "\033[H\033[2J"


class Command(BaseCommand):
    help = "Say whether work moves: ages, depths, sweeps, workers. Exit status 1 when something is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print a JSON object; with --watch, one a line.")
        parser.add_argument("--watch", type=float, metavar="SECONDS", help="Look again and again, until Ctrl-C.")

    def handle(self, **options: Any) -> None:
        every = options["watch"]
        if every is not None and not every > 0:
            raise CommandError("--watch: more than 0 seconds.")
        found = self._look(as_json=options["json"])
        with contextlib.suppress(KeyboardInterrupt):
            while every is not None:
                time.sleep(every)
                # A database that went away meanwhile is asked over a new connection.
                close_old_connections()
                found = self._look(as_json=options["json"], is_again=True)
        if not found.is_healthy:
            sys.exit(1)

    def _look(self, *, as_json: bool, is_again: bool = False) -> Survey:
        found = survey()
        if as_json:
            self.stdout.write(json.dumps({"healthy": found.is_healthy, **asdict(found)}))
        else:
            if is_again:
                self.stdout.write(CLEAR_SCREEN if self.stdout.isatty() else "")
            self.stdout.write("\n".join(_lines(found)))
        self.stdout.flush()
        return found


def _lines(found: Survey) -> list[str]:
    last = ", ".join(f"{duty} {_age(age)} ago" for duty, age in sorted(found.seconds_since.items()))
    lines = ["Healthy: work moves." if found.is_healthy else "NOT healthy:"]
    lines += [f"  {problem}" for problem in found.problems]
    lines += [
        "",
        f"Deliveries   {_count(found.pending)} pending, {_count(found.sending)} being sent",
        f"Due now      {found.endpoints_with_due_work:,} endpoints, oldest {_age(found.oldest_due_seconds)}",
        f"Dead letters {_count(found.open_dead_letters)} open, oldest {_age(found.oldest_open_dead_letter_seconds)}",
        f"Endpoints    {_pairs(found.endpoints)}",
        f"Queues       {_pairs(found.queue_depths)}",
        f"Last         {last or '-'}",
        f"Workers      {len(found.workers)}",
    ]
    return lines + [
        f"  {worker['name']}: {', '.join(worker['queues'])}; seen {_age(worker['seen_seconds_ago'])} ago"
        for worker in found.workers
    ]


def _count(rows: int) -> str:
    return f"{rows:,}{' or more' if rows >= COUNTED else ''}"


def _pairs(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "-"


def _age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
