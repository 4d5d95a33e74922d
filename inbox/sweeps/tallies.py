"""Fold the minutes of the tallies into their totals."""

from dataclasses import dataclass

from inbox import signs
from inbox.transitions.tally import fold_minutes


@dataclass(slots=True)
class TalliesSwept:
    """Rows that were folded."""

    folded: int = 0


def sweep() -> TalliesSwept:
    """All that are over."""
    folded = fold_minutes()
    signs.note("tallies")
    return TalliesSwept(folded)
