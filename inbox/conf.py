"""The settings this app reads, typed, with their defaults. Refused at boot by `inbox.checks`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from django.conf import settings


@dataclass(frozen=True, slots=True)
class Conf:
    """What `settings.HOLDFAST_INBOX` may say, name for name in capitals."""

    body_days: float = 30.0
    """How long bodies and headers of finished events are kept. Those of open dead letters stay for good."""

    ledger_days: float = 400.0
    """How long an event's id is remembered, so that a repeat is told: longer than any provider sends again. Stripe's
    events can be sent again by hand for 30 days, and people restore backups that are older."""

    task_budget_seconds: float = 5.0
    """How long one task works before it hands over to the next: workers share their threads with other work."""

    admin_rate_per_second: float = 50.0
    """The pace of redrives of more than twenty events from the admin."""

    key_fetchers: tuple[str, ...] = ()
    """Dotted paths of the functions that sources may name to fetch a provider's keys. Sources are rows, which people
    edit in the admin, and an import runs what it imports: so nothing is imported that is not listed here."""

    operators: tuple[str, ...] = ()
    """E-mail addresses that are told about dead letters."""


def conf() -> Conf:
    """The settings in force. Raises ValueError naming an unknown or unusable entry."""
    given: Mapping[str, Any] = getattr(settings, "HOLDFAST_INBOX", {})
    return _conf(tuple(sorted((name, _hashable(value)) for name, value in given.items())))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=8)
def _conf(entries: tuple[tuple[str, Any], ...]) -> Conf:
    known = {field.name: isinstance(field.default, tuple) for field in fields(Conf)}
    if unknown := [name for name, _ in entries if name.lower() not in known]:
        raise ValueError(
            f"HOLDFAST_INBOX has no setting {', '.join(unknown)}; known are {', '.join(sorted(known)).upper()}."
        )
    made = Conf(**{name.lower(): value for name, value in entries})
    for name, is_list in known.items():
        value = getattr(made, name)
        if fault := _list_fault(value) if is_list else _number_fault(value):
            raise ValueError(f"HOLDFAST_INBOX[{name.upper()!r}] is {value!r}: it must be {fault}.")
    if made.ledger_days < made.body_days:
        raise ValueError("HOLDFAST_INBOX: LEDGER_DAYS must not be less than BODY_DAYS.")
    return made


def _number_fault(value: Any) -> str:
    return "a number above 0" if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0 else ""


def _list_fault(value: Any) -> str:
    is_list = isinstance(value, tuple) and all(isinstance(each, str) and each for each in value)
    return "" if is_list else "a list of texts"
