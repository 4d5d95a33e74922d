"""How the log looks: lines of JSON or text, on standard error, for every process and for every library in it."""

import logging.config
from typing import Any, Final

FORMATS: Final = ("json", "text")

# Three lines for every sweep and wake-up would bury what matters.
_QUIET: Final = ("celery.worker.strategy", "celery.app.trace", "celery.beat")

# These come with handlers of their own, which would write a second time, or past the format.
_TAMED: Final = ("django", "django.server", "gunicorn.error", "gunicorn.access")


def logging_config(*, format: str, level: str, attempts: bool) -> dict[str, Any]:
    """The setting LOGGING. `attempts`: whether each attempt of a delivery has its line.

    Raises ValueError for a format or a level that does not exist.
    """
    if format not in FORMATS:
        raise ValueError(f"LOG_FORMAT is {format!r}: say {' or '.join(FORMATS)}.")
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"LOG_LEVEL is {level!r}: say DEBUG, INFO, WARNING, ERROR or CRITICAL.")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
            "json": {"()": "journal.json_lines.JsonLines"},
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": format}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            **{name: {"level": "WARNING"} for name in _QUIET},
            **{name: {"handlers": [], "propagate": True} for name in _TAMED},
            "holdfast.attempts": {"level": "NOTSET" if attempts else "CRITICAL"},
        },
    }
