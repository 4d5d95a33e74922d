"""Sends spans to an OpenTelemetry collector, when the environment asks for it. Where to is said by OTEL_… variables."""

import os

from django.core.exceptions import ImproperlyConfigured

try:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    _is_installed = True
except ImportError:
    _is_installed = False


def start(*, wanted: bool) -> None:
    """Begin to send this process's spans. Raises ImproperlyConfigured when that is wanted and cannot be."""
    if not wanted:
        return
    if not _is_installed:
        raise ImproperlyConfigured("HOLDFAST_TRACING is set: pip install -r requirements-tracing.txt, or unset it.")
    os.environ.setdefault("OTEL_SERVICE_NAME", "holdfast")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
