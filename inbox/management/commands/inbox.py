"""Everything about the inbox from the command line, one subcommand a duty."""

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from inbox.errors import FailureClass, InboxError
from inbox.figures import figures
from inbox.management.actor import command_actor
from inbox.models import DeadLetter, Operation, Resolution, Source
from inbox.redrive import discard, preview, redrive
from inbox.report import lines
from inbox.rotation import DEFAULT_OVERLAP, rotate
from inbox.schemes import SCHEMES
from inbox.sweeps import due, lapsed, old, unannounced


class Command(BaseCommand):
    help = "Sources, figures, dead letters, secrets and sweeps of the inbox."

    def add_arguments(self, parser: ArgumentParser) -> None:
        duties = parser.add_subparsers(dest="duty", required=True, metavar="DUTY")
        for add in (_add_sources, _add_status, _add_redrive, _add_discard, _add_rotate, _add_sweep):
            made = add(duties)
            made.add_argument("--json", action="store_true", help="Print a JSON object.")

    def handle(self, *, duty: str, **options: Any) -> None:
        act: Callable[[dict[str, Any]], str] = getattr(self, f"_{duty.replace('-', '_')}")
        try:
            self.stdout.write(act(options))
        except InboxError as error:
            raise CommandError(str(error)) from error

    def _sources(self, options: dict[str, Any]) -> str:
        rows = [
            {"source": row.slug, "scheme": row.scheme, "enabled": row.enabled, "address": f"/inbox/{row.slug}/"}
            for row in Source.objects.all()
        ]
        if options["json"]:
            return json.dumps({"sources": rows, "schemes": sorted(SCHEMES)})
        shown = [f"{row['address']}  {row['scheme']}{'' if row['enabled'] else '  (disabled)'}" for row in rows]
        return "\n".join(shown) or f"There is no source yet. Schemes: {', '.join(sorted(SCHEMES))}."

    def _status(self, options: dict[str, Any]) -> str:
        found = figures()
        if options["json"]:
            return json.dumps({"sources": [{**asdict(each), "duplicate_rate": each.duplicate_rate} for each in found]})
        return "\n".join(lines(found))

    def _redrive(self, options: dict[str, Any]) -> str:
        return self._operate(
            options,
            lambda ids, words: redrive(
                ids,
                actor=command_actor(),
                note=options["note"],
                selection=words,
                rate_per_second=options["rate"],
            ),
        )

    def _discard(self, options: dict[str, Any]) -> str:
        return self._operate(
            options,
            lambda ids, words: discard(ids, actor=command_actor(), note=options["note"], selection=words),
        )

    def _operate(self, options: dict[str, Any], act: Callable[[list[int], str], Operation]) -> str:
        ids, words = _chosen(options)
        if options["dry_run"]:
            ready, refusals = preview(ids)
            if options["json"]:
                return json.dumps({"dry_run": True, "ready": ready, "refused": refusals.total(), "why": refusals})
            return f"Dry run, nothing is changed. {ready} would move, {refusals.total()} would be left alone."
        operation = act(ids, words)
        if options["json"]:
            fields = ("kind", "moved", "refused", "selection")
            return json.dumps({"operation": operation.pk, **{name: getattr(operation, name) for name in fields}})
        counts = f"{operation.moved} moved, {operation.refused} refused. {operation.selection}"
        return f"{operation.kind.capitalize()} {operation.pk}: {counts}"

    def _rotate_secret(self, options: dict[str, Any]) -> str:
        source = _source(options["source"])
        secret = sys.stdin.readline()
        try:
            overlap = timedelta(hours=options["overlap_hours"])
            made = rotate(source, secret, actor=command_actor(), overlap=overlap)
        except (ValueError, OverflowError) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            return json.dumps({"fingerprint": made.fingerprint})
        return f"Key {made.fingerprint} added; older ones are believed for {options['overlap_hours']:g} h more."

    def _sweep(self, options: dict[str, Any]) -> str:
        found = {
            "lapsed": asdict(lapsed.sweep()),
            "due": asdict(due.sweep()),
            "unannounced": asdict(unannounced.sweep()),
            "old": asdict(old.sweep()),
        }
        if options["json"]:
            return json.dumps(found)
        return "\n".join(
            f"{name}: {', '.join(f'{key} {value}' for key, value in swept.items())}" for name, swept in found.items()
        )


def _add_sources(duties: Any) -> Any:
    return duties.add_parser("sources", help="List the sources and their addresses.")


def _add_status(duties: Any) -> Any:
    return duties.add_parser("status", help="Figures of every source: received, refused, waiting, given up.")


def _add_redrive(duties: Any) -> Any:
    made = duties.add_parser("redrive", help="Send open dead letters back to work, with a fresh budget.")
    made.add_argument("--rate", type=_rate, help="So many a second become due; without it all at once.")
    return _with_selection(made)


def _add_discard(duties: Any) -> Any:
    made = duties.add_parser("discard", help="Let open dead letters go for good; needs a note.")
    return _with_selection(made)


def _add_rotate(duties: Any) -> Any:
    made = duties.add_parser("rotate-secret", help="Add a secret, read from standard input; old ones expire.")
    made.add_argument("source", help="The source's slug.")
    default = DEFAULT_OVERLAP / timedelta(hours=1)
    made.add_argument(
        "--overlap-hours", type=float, default=default, help=f"0 to 720, {default:g} by default; 0 when it leaked."
    )
    return made


def _add_sweep(duties: Any) -> Any:
    return duties.add_parser("sweep", help="Run the inbox's sweeps now, as beat would.")


def _rate(text: str) -> float:
    rate = float(text)
    if not 0 < rate < float("inf"):
        raise ArgumentTypeError("a rate is above 0")
    return rate


def _with_selection(made: Any) -> Any:
    made.add_argument("ids", nargs="*", type=int, metavar="ID", help="Dead letters by their number.")
    made.add_argument("--source", help="Open dead letters of this source.")
    made.add_argument("--class", dest="failure_class", choices=[str(each) for each in FailureClass])
    made.add_argument("--type", help="Exactly this event type.")
    made.add_argument("--note", default="", help="Why; kept with the operation.")
    made.add_argument("--dry-run", action="store_true", help="Only say what would happen.")
    return made


def _chosen(options: dict[str, Any]) -> tuple[list[int], str]:
    """The ids, and the selection in words. Nothing chosen is an error, not everything."""
    filters = {"source__slug": options["source"], "failure_class": options["failure_class"]}
    filters = {name: value for name, value in (filters | {"event_type": options["type"]}).items() if value}
    if bool(options["ids"]) == bool(filters):
        raise CommandError("Say which: dead letters by number, or --source, --class and --type.")
    if options["ids"]:
        return options["ids"], ""
    if options["source"]:
        _source(options["source"])
    rows = DeadLetter.objects.filter(resolution=Resolution.OPEN, **filters)
    words = ", ".join(f"{name} {value}" for name, value in filters.items()).replace("source__slug", "source")
    return list(rows.values_list("pk", flat=True)), f"All open dead letters with {words.replace('_', ' ')}."


def _source(slug: str) -> Source:
    source = Source.objects.filter(slug=slug).first()
    if source is None:
        known = ", ".join(Source.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no source {slug}. There are: {known}.")
    return source
