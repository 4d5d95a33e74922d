"""Reliable webhook delivery: `publish` an event in your own transaction, every subscribed endpoint gets it."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deliveries.publishing import publish, publish_many

__all__ = ["publish", "publish_many"]


def __getattr__(name: str) -> Callable[..., object]:
    # Django imports this package before its models may be imported, so the two verbs are looked up at first use.
    if name in __all__:
        return getattr(import_module("deliveries.publishing"), name)  # type: ignore[no-any-return]
    raise AttributeError(name)
