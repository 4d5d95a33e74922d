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


def check_conf(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """`settings.HOLDFAST_INBOX` holds known names with usable values."""
    try:
        conf()
    except (TypeError, ValueError) as error:
        return [Error(str(error), "inbox/conf.py explains each setting.", id="inbox.E001")]
    return []


def check_sources(app_configs: Any, databases: Any = None, **_kwargs: Any) -> Sequence[CheckMessage]:
    """Every enabled source has a scheme that exists, options that it understands, and a live secret."""
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
