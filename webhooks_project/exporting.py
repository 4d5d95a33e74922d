"""The sending of spans to a collector, by OpenTelemetry's SDK. Imported only where that is wanted."""

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def begin() -> None:
    """Send this process's spans from now on, in batches; the last ones when it exits."""
    os.environ.setdefault("OTEL_SERVICE_NAME", "holdfast")
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
