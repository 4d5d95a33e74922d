"""Checks of the options that a source gives its scheme. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any


def unknown_options(options: Mapping[str, Any], known: Iterable[str]) -> dict[str, str]:
    """A sentence for every option that the scheme does not have: a misspelt one would be ignored without a word."""
    names = sorted(known)
    known_names = f"It knows {', '.join(names)}." if names else "It takes none."
    return {str(name): f"This scheme has no such option. {known_names}" for name in options if name not in names}
