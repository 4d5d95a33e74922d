"""OpenTelemetry, where it is installed: the trace that is under way when an event is published is kept with it.

A trace travels as a W3C `traceparent` (https://www.w3.org/TR/trace-context/#traceparent-header), 55 characters.
Without the packages of requirements-tracing.txt nothing here does anything.
"""

from typing import Final

try:
    from opentelemetry import trace
except ImportError:
    trace = None  # type: ignore[assignment]

TRACEPARENT_LENGTH: Final = 55


def is_installed() -> bool:
    """Whether spans can be made at all."""
    return trace is not None


def current_traceparent() -> str | None:
    """The trace that the calling code is part of; None when it is part of none."""
    return None if trace is None else traceparent_of(trace.get_current_span())


def traceparent_of(span: "trace.Span") -> str | None:
    """The span as its children name it; None for one that names nothing."""
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def trace_id_of(traceparent: str | None) -> str | None:
    """The 32 digits that all spans of the trace share."""
    return traceparent[3:35] if traceparent else None


def span_id_of(traceparent: str | None) -> str | None:
    """The 16 digits of the span itself."""
    return traceparent[36:52] if traceparent else None
