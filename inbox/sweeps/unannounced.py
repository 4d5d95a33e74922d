"""Tell the operators about dead letters that nobody was told about."""

from dataclasses import dataclass

from inbox import signs
from inbox.alerts import announce


@dataclass(frozen=True, slots=True)
class UnannouncedSwept:
    """Dead letters that were announced."""

    announced: int


def sweep() -> UnannouncedSwept:
    """One mail's worth; what is more waits half a minute for the next."""
    announced = announce()
    signs.note("unannounced")
    return UnannouncedSwept(announced)
