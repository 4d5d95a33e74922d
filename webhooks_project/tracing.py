"""Whether this process sends spans to an OpenTelemetry collector; OTEL_… variables say where to."""

from importlib import import_module
from types import ModuleType

from django.core.exceptions import ImproperlyConfigured

_EXPORTING = "webhooks_project.exporting"


def start(*, wanted: bool) -> None:
    """Begin to send, if that is wanted."""
    if wanted:
        exporting().begin()


def exporting() -> ModuleType:
    """What sends. Raises ImproperlyConfigured without the packages that it needs."""
    try:
        # By name: the SDK takes its time to load, and is not installed everywhere.
        return import_module(_EXPORTING)
    except ImportError as error:
        hint = "pip install -r requirements-tracing.txt, or unset it."
        raise ImproperlyConfigured(f"HOLDFAST_TRACING is set, and OpenTelemetry is missing: {hint}") from error
