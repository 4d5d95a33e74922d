"""The installation's own functions that fetch a provider's public keys, by the dotted paths that sources name."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from django.utils.module_loading import import_string

from inbox.conf import conf
from inbox.errors import InboxError
from inbox.schemes.key_cache import CachedKeys
from inbox.schemes.plaid import KEY_FETCHER


class FetcherUnusable(InboxError):
    """A dotted path that is not listed in the settings, or leads to nothing that can be called."""


def with_fetcher(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """A source's options with the function in the place of its path. Raises FetcherUnusable.

    Every source that names the function shares its cache, for as long as the process lives.
    """
    path = options.get(KEY_FETCHER)
    return {**options, KEY_FETCHER: fetcher(path)} if isinstance(path, str) else options


def fetcher(path: str) -> CachedKeys:
    """The function of this path behind a cache. Raises FetcherUnusable."""
    if path not in conf().key_fetchers:
        raise FetcherUnusable(f"{path} is not listed in HOLDFAST_INBOX['KEY_FETCHERS'].")
    return _cached(path)


def fault_of(options: Mapping[str, Any]) -> str:
    """Why the function that a source names cannot be used; empty when it can, or when none is named."""
    try:
        with_fetcher(options)
    except FetcherUnusable as error:
        return str(error)
    return ""


@lru_cache(maxsize=64)
def _cached(path: str) -> CachedKeys:
    return CachedKeys(_imported(path))


def _imported(path: str) -> Callable[[str], Mapping[str, Any] | None]:
    try:
        found: Any = import_string(path)
    except Exception as error:  # a module of the user's own may fail in any way while it is imported
        raise FetcherUnusable(f"{path} cannot be imported: {type(error).__name__}.") from error
    if not callable(found):
        raise FetcherUnusable(f"{path} is no function.")
    return found  # type: ignore[no-any-return]
