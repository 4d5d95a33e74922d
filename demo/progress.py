"""How far it is: one line that moves on a terminal, a plain line every few seconds elsewhere."""

import sys
from collections import Counter
from dataclasses import dataclass

from deliveries.statuses import Status
from demo import figures, screen

BAR_CELLS = 30
PLAIN_EVERY_SECONDS = 3.0
CLEAR_LINE = "\r\x1b[K"


@dataclass(slots=True)
class Progress:
    """Shows counts against `total`, with the seconds since the wait began."""

    total: int
    _last_at: float | None = None

    def show(self, statuses: Counter[str], seconds: float, *, is_last: bool = False) -> None:
        """Draw the counts; on a plain output only now and then, and always the last ones."""
        text = self._text(statuses, seconds)
        if screen.is_terminal():
            sys.stdout.write(f"{CLEAR_LINE}   {self._bar(statuses)}  {text}" + ("\n" if is_last else ""))
            sys.stdout.flush()
        elif is_last or self._last_at is None or seconds - self._last_at >= PLAIN_EVERY_SECONDS:
            self._last_at = seconds
            screen.line(f"   {text}")

    def _bar(self, statuses: Counter[str]) -> str:
        full = BAR_CELLS * (self.total - figures.unfinished(statuses)) // self.total
        return "█" * full + "░" * (BAR_CELLS - full)

    def _text(self, statuses: Counter[str], seconds: float) -> str:
        delivered, dead = statuses[Status.DELIVERED], statuses[Status.DEAD]
        waiting = figures.unfinished(statuses)
        return f"{seconds:4.0f} s   delivered {delivered:>5,}   dead {dead:>5,}   under way {waiting:>5,}"
