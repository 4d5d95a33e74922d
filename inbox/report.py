"""The figures of the inbox as lines for people, and as a section of the pipeline's status."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from inbox.figures import SourceFigures, figures

OVERDUE_SECONDS: Final = 60.0
"""An event that has been due for so long says that messages were lost and the sweep is not there, or nobody works."""


def status_section() -> tuple[str, dict[str, Any], list[str], list[str]]:
    """Name, figures, lines for people, and problems: what `settings.HOLDFAST_STATUS_SECTIONS` names."""
    found = figures()
    due = [(each.source, each.oldest_due_seconds or 0.0) for each in found]
    problems = [
        f"Inbox {source}: an event has been due for {_seconds(seconds)}"
        for source, seconds in due
        if seconds > OVERDUE_SECONDS
    ]
    by_source = {each.source: {**asdict(each), "duplicate_rate": each.duplicate_rate} for each in found}
    return "inbox", by_source, list(lines(found)) if found else [], problems


def lines(found: list[SourceFigures]) -> Iterator[str]:
    """A paragraph for each source."""
    if not found:
        yield "There is no source yet."
    for each in found:
        yield each.source or "(no source of ours)"
        if each.doubt:
            yield f"  {each.doubt}"
        if each.source:
            yield f"  24 hours      {each.received:,} received, {_again(each)}"
            yield f"  now           {_waiting(each)}"
            yield f"  latency       {_latency(each)}"
            yield f"  dead letters  {_pairs(each.open_dead_letters)}"
            yield f"  unhandled     {_pairs(each.unhandled_types)}"
            yield f"  bad signature {_pairs(each.signature_failures, 'keys ')}"
        yield f"  refused       {_pairs(each.refusals)}"


def _waiting(each: SourceFigures) -> str:
    if each.oldest_unprocessed_seconds is None:
        return "none wait"
    return f"{each.waiting:,} wait, the oldest for {_seconds(each.oldest_unprocessed_seconds)}"


def _latency(each: SourceFigures) -> str:
    if each.latency_p50_seconds is None or each.latency_p95_seconds is None:
        return "nothing processed"
    return f"median {_seconds(each.latency_p50_seconds)}, 95th percentile {_seconds(each.latency_p95_seconds)}"


def _again(each: SourceFigures) -> str:
    other = f", {each.conflicts:,} of them with another body" if each.conflicts else ""
    return f"{each.duplicates:,} repeats ({each.duplicate_rate:.1%}){other}"


def _pairs(counts: Mapping[str, int], what: str = "") -> str:
    return ", ".join(f"{what}{name}: {count:,}" for name, count in counts.items()) or "none"


def _seconds(value: float) -> str:
    return f"{value:,.3g} s"
