"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LOOK_SECONDS = 0.05


def eventually(look: Callable[[], Found], *, within: float = 30.0) -> Found:
    """Look again and again until `look()` returns something true, and return that; fail after `within` seconds."""
    deadline = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"it did not happen within {within:g} s; the last look found {found!r}")
        time.sleep(LOOK_SECONDS)
    return found
