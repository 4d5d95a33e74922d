"""System checks: a source that would refuse everything is named, with an id and a hint.

Sources are rows, so `check_sources` runs where Django may ask the database: `migrate` and `check --database default`.
"""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning
from django.db import Error as DatabaseError
from django.db import connections, transaction

from inbox.conf import conf
from inbox.doubts import doubts
from inbox.key_fetchers import fault_of
from inbox.schemes.plaid import KEY_FETCHER


def check_conf(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """`settings.HOLDFAST_INBOX` holds known names with usable values."""
    try:
        conf()
    except (TypeError, ValueError) as error:
        return [Error(str(error), "inbox/conf.py explains each setting.", id="inbox.E001")]
    return []


def check_key_fetchers(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """Every function that `HOLDFAST_INBOX["KEY_FETCHERS"]` lists can be imported and called."""
    try:
        listed = conf().key_fetchers
    except (TypeError, ValueError):
        # `check_conf` says so.
        return []
    faults = [fault for path in listed if (fault := fault_of({KEY_FETCHER: path}))]
    return [Error(fault, "Correct the dotted path in the settings.", id="inbox.E002") for fault in faults]


def check_sources(app_configs: Any, databases: Any = None, **_kwargs: Any) -> Sequence[CheckMessage]:
    """Every enabled source has a scheme that exists, options that can be followed, and a live secret."""
    if "default" not in (databases or ()) or "inbox_source" not in _tables():
        return []
    return [Warning(f"Source {doubt.source} {doubt.sentence}", doubt.hint, id="inbox.W001") for doubt in doubts()]


def _tables() -> list[str]:
    """Before the first migration there are none."""
    try:
        with transaction.atomic():
            return connections["default"].introspection.table_names()
    except DatabaseError:
        return []
