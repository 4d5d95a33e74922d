"""The state of the pipeline at a glance."""

import contextlib
import json
import sys
import time
from argparse import ArgumentParser
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DatabaseFault
from django.db import close_old_connections
from django.utils import timezone
from django.utils.module_loading import import_string

from deliveries.watch.figures import Backlog, Figures, backlog, overall
from deliveries.watch.survey import COUNTED, Survey, survey

CLEAR_SCREEN: Final = "\033[H\033[2J"
WATCH_SECONDS: Final = 2.0


class Command(BaseCommand):
    help = (
        "Say whether work moves: ages, depths, sweeps, workers; and how the last hour went. "
        "Exit status 1 when something is wrong."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print a JSON object; with --watch, one a line.")
        parser.add_argument(
            "--watch",
            type=float,
            nargs="?",
            const=WATCH_SECONDS,
            metavar="SECONDS",
            help=f"Look again and again, every {WATCH_SECONDS:g} s unless you say otherwise. Ctrl-C ends it, with 0.",
        )

    def handle(self, **options: Any) -> None:
        every = options["watch"]
        if every is None:
            if not self._look(as_json=options["json"]).is_healthy:
                sys.exit(1)
            return
        if not every > 0:
            raise CommandError("--watch: more than 0 seconds.")
        # Whoever watches sees for themselves; how it stood when they had seen enough is no error.
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                self._look(as_json=options["json"], clears=True)
                time.sleep(every)
                # A database that went away meanwhile is asked over a new connection.
                close_old_connections()

    def _look(self, *, as_json: bool, clears: bool = False) -> Survey:
        found = survey()
        # A database that is away would be waited for again at every question.
        figures = _figures() if found.database else None
        sections = _sections() if found.database else []
        found.problems += [problem for _, _, _, problems in sections for problem in problems]
        if as_json:
            words = {"last_hour": figures[0].summary(), "backlog": figures[1].summary()} if figures else {}
            words |= {name: told for name, told, _, _ in sections}
            self.stdout.write(json.dumps({"healthy": found.is_healthy, **asdict(found), **words}))
        else:
            if clears and self.stdout.isatty():
                self.stdout.write(CLEAR_SCREEN, ending="")
            self.stdout.write("\n".join([*_lines(found), *(_figure_lines(*figures) if figures else [])]))
            for _, _, lines, _ in sections:
                self.stdout.write("\n".join(["", *lines]) if lines else "")
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


def _figures() -> tuple[Figures, Backlog] | None:
    """The last hour's figures and what waits; None when the database went away just now."""
    now = timezone.now()
    try:
        return overall(now - timedelta(hours=1), now), backlog()
    except DatabaseFault:
        return None


def _sections() -> list[tuple[str, dict[str, Any], list[str], list[str]]]:
    """What other apps have to say; the project names them, as this app knows none of them."""
    try:
        return [import_string(path)() for path in getattr(settings, "HOLDFAST_STATUS_SECTIONS", ())]
    except DatabaseFault:
        return []


def _figure_lines(hour: Figures, waiting: Backlog) -> list[str]:
    return [
        "",
        f"Last hour    {hour.attempts:,} attempts, {_share(hour.success_rate)} succeeded",
        f"  failed     {_pairs(dict(hour.failed))}",
        f"  told apart {_share(hour.auth_failure_rate)} refused credentials, {_share(hour.throttling_rate)} throttled",
        f"  arrived    at attempt {_numbers(hour.succeeded_at)}; {_share(hour.retry_rate)} took more than one",
        f"  attempt    {_percentiles(hour.latency_ms)}",
        f"  end to end {_percentiles(hour.latency_end_to_end_ms)}",
        f"Dead, open   {_pairs(waiting.dead_letters_by_class)}",
    ]


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _numbers(arrived: dict[str, int]) -> str:
    return ", ".join(f"{number}: {count:,}" for number, count in arrived.items() if count) or "-"


def _percentiles(latencies: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {_latency(value)}" for name, value in latencies.items())


def _latency(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.0f} ms" if milliseconds < 1_000 else _age(milliseconds / 1_000)


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
