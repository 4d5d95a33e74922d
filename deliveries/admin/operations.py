"""Running redrive, discard and replay from the admin: in the user's name, logged, and told in one message."""

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.http import HttpRequest
from django.utils.html import format_html

from console.presentation import link
from deliveries.conf import conf
from deliveries.errors import HoldfastError
from deliveries.models import Operation

AT_ONCE: Final = 20
"""Rows that one action sends out without a pace: what a person ticks by hand on a page."""


def rate_for(count: int) -> float | None:
    """Deliveries a second at which so many rows go out; a handful goes at once."""
    return conf().admin_rate_per_second if count > AT_ONCE else None


def pace_in_words(count: int) -> list[str]:
    """What the asking page says about the pace."""
    rate = rate_for(count)
    if rate is None:
        return []
    return [f"They go out at {rate:g} a second, over {_duration(count / rate)}; the operation's page can stop them."]


def _duration(seconds: float) -> str:
    return f"about {seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def run(request: HttpRequest, operate: Callable[[], Operation], one: str, many: str) -> Operation | None:
    """Run a verb and say what came of it to `one` row or `many`; a refusal becomes a message, and None."""
    try:
        operation = operate()
    except HoldfastError as refusal:
        messages.error(request, str(refusal))
        return None
    details = link("deliveries", "operation", operation.pk, "details")
    text = format_html(
        "{} {} ({}). {}", operation.moved, one if operation.moved == 1 else many, details, _left(operation)
    )
    (messages.warning if operation.refused or not operation.moved else messages.success)(request, text)
    return operation


def _left(operation: Operation) -> str:
    """The part of the operation's record about what was left alone and what waits."""
    _, marker, words = operation.selection.partition("Left alone:")
    if marker:
        return marker + words
    return f"{operation.refused} left alone." if operation.refused else ""
