"""The figures of the inbox as lines for people."""

from collections.abc import Iterator, Mapping

from inbox.figures import SourceFigures


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
            yield f"  now           {each.waiting:,} wait, the oldest for {_seconds(each.oldest_unprocessed_seconds)}"
            p50, p95 = _seconds(each.latency_p50_seconds), _seconds(each.latency_p95_seconds)
            yield f"  latency       median {p50}, 95th percentile {p95}"
            yield f"  dead letters  {_pairs(each.open_dead_letters)}"
            yield f"  unhandled     {_pairs(each.unhandled_types)}"
            yield f"  bad signature {_pairs(each.signature_failures, 'keys ')}"
        yield f"  refused       {_pairs(each.refusals)}"


def _again(each: SourceFigures) -> str:
    other = f", {each.conflicts:,} of them with another body" if each.conflicts else ""
    return f"{each.duplicates:,} repeats ({each.duplicate_rate:.1%}){other}"


def _pairs(counts: Mapping[str, int], what: str = "") -> str:
    return ", ".join(f"{what}{name}: {count:,}" for name, count in counts.items()) or "none"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g} s"
