"""When an endpoint is warned about, disabled, and tried again: for all, or for one that names others. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

LEAST_SAMPLES: Final = 20


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When to warn and when to disable; each can be set for all endpoints or for one."""

    warn_below: float = 0.95
    """Success rate over one hour under which the owner is warned."""

    disable_below: float = 0.50
    """Success rate over one hour under which the endpoint is disabled, if nothing succeeded lately either."""

    silent_minutes: float = 15
    """That "lately": minutes without a success."""

    least_samples: float = LEAST_SAMPLES
    """Attempts in the hour, below which nothing is judged."""

    probe_minutes: float = 0
    """Minutes after which an endpoint that was disabled by these rules is first tried again; 0: never."""

    certificate_days: float = 14
    """Days before its TLS certificate ends from which on the owner is warned; 0: never."""

    @property
    def recover_from(self) -> float:
        """Success rate at which an endpoint that was warned about counts as recovered.

        Half the way from the warning to perfection, so that a rate that swings about the threshold is one warning.
        """
        return self.warn_below + (1 - self.warn_below) / 2

    def overridden(self, given: Mapping[str, float]) -> "Thresholds":
        """These, with what one endpoint says instead. Raises TypeError for a name that does not exist."""
        return replace(self, **given) if given else self


_RANGES: Final = {
    "warn_below": (0.0, 1.0),
    "disable_below": (0.0, 1.0),
    "silent_minutes": (0.0, 60.0),
    "least_samples": (1.0, 1_000_000.0),
    "probe_minutes": (0.0, 1440.0),
    "certificate_days": (0.0, 365.0),
}
"""Lowest and highest of each. A rate of 0 to disable below switches the rule off, and so do 0 minutes or
days; an hour is all that is judged."""

assert set(_RANGES) == {field.name for field in fields(Thresholds)}


def threshold_fault(given: object) -> str | None:
    """What is wrong with an endpoint's own thresholds, in a sentence; None when they can be used."""
    if not isinstance(given, dict):
        return 'An object such as {"warn_below": 0.9}.'
    for name, value in given.items():
        if name not in _RANGES:
            return f"There is no threshold {name!r}; known are {', '.join(_RANGES)}."
        low, high = _RANGES[name]
        if not _is_number(value) or not low <= value <= high:
            return f"{name} is a number from {low:g} to {high:g}."
    return None


def order_fault(thresholds: Thresholds) -> str | None:
    """Whether the thresholds in force contradict each other, in a sentence."""
    if thresholds.disable_below > thresholds.warn_below:
        return f"disable_below ({thresholds.disable_below:g}) is above warn_below ({thresholds.warn_below:g})."
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
