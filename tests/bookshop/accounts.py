"""What became of events, by the rows that their handlers left."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from tests.bookshop.models import Effect


@dataclass(frozen=True, slots=True)
class Account:
    """`missing` had no effect, `doubled` more than one; `effects` counts the rows."""

    effects: int
    missing: list[str]
    doubled: list[str]


def account(source: str, ids: Collection[str]) -> Account:
    """Compare the events that should have had their effect with those that did."""
    found = Counter(Effect.objects.filter(source=source).values_list("event_id", flat=True))
    doubled = [id for id, count in found.items() if count > 1]
    return Account(found.total(), sorted(set(ids) - found.keys()), doubled)
