"""Tell the operators about dead letters that nobody was told about."""

from dataclasses import dataclass

from inbox.alerts import announce


@dataclass(frozen=True, slots=True)
class UnannouncedSwept:
    """Dead letters that were announced."""

    announced: int


def sweep() -> UnannouncedSwept:
    """One mail's worth; what is more waits half a minute for the next."""
    return UnannouncedSwept(announce())
