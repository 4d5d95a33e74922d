"""The publisher's trace goes on in every attempt, and reaches the receiver only when it is told to."""

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from deliveries import publish_many
from deliveries.conf import conf
from deliveries.deliver import deliver
from deliveries.drain import span as attempt_span
from deliveries.models import Event
from deliveries.outcomes import Exchange, Failure
from deliveries.transport import MemoryTransport
from tests.factories import backdate, make_endpoint, make_event
from tests.unit.test_docs import first_words
from webhooks_project import tracing as project_tracing

ROOT = Path(__file__).resolve().parents[3]
URL = "https://hooks.example:8443/hook/PATHSECRET?token=SECRET"
PUBLISHED = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


@pytest.fixture
def exporter(monkeypatch):
    """A tracer provider of the test's own: the global one can be set only once in a process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def endpoint(db, empty_redis):
    return make_endpoint(url=URL, tenant="shop", headers={"X-Key": "HEADERSECRET"})


@pytest.fixture
def sends(settings):
    settings.HOLDFAST = settings.HOLDFAST | {"SEND_TRACEPARENT": True}


def attempts(exporter):
    return [span for span in exporter.get_finished_spans() if span.name == "POST"]


def names(traceparent):
    """The trace and the span that it names."""
    assert TRACEPARENT.fullmatch(traceparent)
    _, trace_id, span_id, _ = traceparent.split("-")
    return int(trace_id, 16), int(span_id, 16)


def publish_in_a_trace(**fields):
    with trace.get_tracer("shop").start_as_current_span("checkout") as span:
        return make_event(tenant="shop", **fields), span.get_span_context()


def test_each_attempt_is_a_span_in_the_trace_of_whoever_published(exporter, endpoint):
    event, publisher = publish_in_a_trace()

    deliver([endpoint.pk], transport=MemoryTransport())

    (span,) = attempts(exporter)
    event.refresh_from_db()
    assert names(event.traceparent) == (publisher.trace_id, publisher.span_id)
    assert span.context.trace_id == publisher.trace_id
    assert span.parent.span_id == publisher.span_id
    assert span.kind is trace.SpanKind.CLIENT


def test_a_span_says_what_the_conventions_ask_and_hides_path_and_query(exporter, endpoint):
    event, _ = publish_in_a_trace(type="order.placed")

    deliver([endpoint.pk], transport=MemoryTransport(Exchange(status_code=204, address="192.0.2.7")))

    (span,) = attempts(exporter)
    delivery = event.deliveries.get()
    assert dict(span.attributes) == {
        "http.request.method": "POST",
        "http.response.status_code": 204,
        "url.full": "https://hooks.example:8443/REDACTED",
        "url.scheme": "https",
        "server.address": "hooks.example",
        "server.port": 8443,
        "network.peer.address": "192.0.2.7",
        "messaging.system": "holdfast",
        "messaging.operation.type": "send",
        "messaging.operation.name": "deliver",
        "messaging.destination.name": "order.placed",
        "messaging.destination.subscription.name": str(endpoint.pk),
        "messaging.message.id": event.pk,
        "messaging.message.body.size": len(event.body),
        "holdfast.delivery.id": delivery.pk,
        "holdfast.endpoint.id": endpoint.pk,
        "holdfast.attempt": 1,
        "holdfast.tenant": "shop",
        "holdfast.outcome": "delivered",
    }
    assert span.status.status_code is trace.StatusCode.UNSET
    assert "SECRET" not in span.to_json()


@pytest.mark.parametrize(
    ("answer", "error_type", "kind"), [(503, "503", "server_error"), (Failure.TIMEOUT, "timeout", "timeout")]
)
def test_a_failed_attempt_is_a_failed_span(exporter, endpoint, answer, error_type, kind):
    make_event(tenant="shop")

    deliver([endpoint.pk], transport=MemoryTransport(answer))

    (span,) = attempts(exporter)
    assert span.status.status_code is trace.StatusCode.ERROR
    assert (span.attributes["error.type"], span.attributes["holdfast.outcome"]) == (error_type, kind)


def test_a_second_attempt_is_a_span_beside_the_first(exporter, endpoint):
    event, publisher = publish_in_a_trace()
    for _ in range(2):
        backdate(event.deliveries.get(), next_attempt_at=timedelta(seconds=1))
        deliver([endpoint.pk], transport=MemoryTransport(500))

    first, second = attempts(exporter)
    assert first.parent.span_id == second.parent.span_id == publisher.span_id
    assert "http.request.resend_count" not in first.attributes
    assert second.attributes["http.request.resend_count"] == 1


def test_what_was_published_in_no_trace_begins_one(exporter, endpoint):
    event = make_event(tenant="shop")

    deliver([endpoint.pk], transport=MemoryTransport())

    assert event.traceparent is None
    assert attempts(exporter)[0].parent is None


def test_the_page_about_tracing_lists_every_attribute_and_no_other(exporter, endpoint):
    event, _ = publish_in_a_trace()
    for answer in (Exchange(status_code=500, address="192.0.2.7"), 200):
        backdate(event.deliveries.get(), next_attempt_at=timedelta(seconds=1))
        deliver([endpoint.pk], transport=MemoryTransport(answer))

    seen = {name for span in attempts(exporter) for name in span.attributes}
    assert sorted(first_words("docs/tracing.md", "attribute")) == sorted(seen)


@pytest.mark.parametrize("traceparent", ["nonsense", "00-" + "0" * 32 + "-b7ad6b7169203331-01"])
def test_a_trace_that_cannot_be_read_costs_no_delivery(exporter, endpoint, traceparent):
    event = make_event(tenant="shop")
    Event.objects.filter(pk=event.pk).update(traceparent=traceparent)

    deliver([endpoint.pk], transport=MemoryTransport())

    assert event.deliveries.get().status == "delivered"
    assert attempts(exporter)[0].parent is None


def test_events_recorded_in_bulk_keep_the_trace_as_well(exporter, endpoint):
    with trace.get_tracer("shop").start_as_current_span("import") as span:
        events = publish_many({"type": "order.placed", "data": {}, "tenant": "shop"} for _ in range(2))

    stored = set(Event.objects.filter(pk__in=[event.pk for event in events]).values_list("traceparent", flat=True))
    assert {traceparent[3:35] for traceparent in stored} == {f"{span.get_span_context().trace_id:032x}"}


def test_the_same_event_from_another_trace_is_still_the_same_event(exporter, endpoint):
    first, _ = publish_in_a_trace(id="order-1", data={"n": 1})
    second, _ = publish_in_a_trace(id="order-1", data={"n": 1})

    assert second.traceparent == first.traceparent


def test_a_receiver_is_told_nothing_by_default(exporter, endpoint):
    publish_in_a_trace()
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    assert not conf().send_traceparent
    assert "traceparent" not in receiver.requests[0].headers


def test_a_receiver_is_told_the_span_of_the_attempt_when_that_is_switched_on(exporter, endpoint, sends):
    publish_in_a_trace()
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    (span,) = attempts(exporter)
    assert names(receiver.requests[0].headers["traceparent"]) == (span.context.trace_id, span.context.span_id)


def test_headers_of_an_endpoint_cannot_take_the_place_of_ours(exporter, endpoint, sends):
    # As if it had been saved before these names were reserved.
    type(endpoint).objects.filter(pk=endpoint.pk).update(headers={"TraceParent": "theirs", "tracestate": "a=b"})
    publish_in_a_trace()
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    sent = {name.lower(): value for name, value in receiver.requests[0].headers.items()}
    assert len(sent) == len(receiver.requests[0].headers)
    assert TRACEPARENT.fullmatch(sent["traceparent"])
    assert "tracestate" not in sent


def test_without_the_packages_an_attempt_passes_on_what_the_publisher_left(monkeypatch, endpoint, sends):
    monkeypatch.setattr(attempt_span, "_is_installed", False)
    event = make_event(tenant="shop")
    Event.objects.filter(pk=event.pk).update(traceparent=PUBLISHED)
    receiver = MemoryTransport()

    deliver([endpoint.pk], transport=receiver)

    assert receiver.requests[0].headers["traceparent"] == PUBLISHED


def test_without_the_packages_everything_can_be_imported_and_nothing_is_traced():
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
import os
os.environ.update(DJANGO_SETTINGS_MODULE="webhooks_project.settings", HOLDFAST_EMBEDDED="0", DJANGO_DEBUG="1")
import django
django.setup()
import webhooks_project.celery, deliveries.tasks
from deliveries import tracing
from deliveries.drain import span
from tests.unit.deliveries.claims import a_claim, a_recipient
from deliveries.outcomes import Exchange, Kind, Outcome
begun = span.begin(a_claim(), a_recipient())
begun.end(Exchange(status_code=200), Outcome(Kind.DELIVERED, ""))
assert (tracing.is_installed(), tracing.current_traceparent(), begun.traceparent) == (False, None, None)
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr


def test_a_process_that_is_asked_to_trace_and_cannot_says_what_is_missing(monkeypatch):
    monkeypatch.delitem(sys.modules, "webhooks_project.exporting", raising=False)
    # What Python makes of a module that is not there.
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)

    project_tracing.start(wanted=False)
    with pytest.raises(ImproperlyConfigured, match=r"requirements-tracing\.txt"):
        project_tracing.start(wanted=True)


def test_a_process_that_is_asked_to_trace_sends_its_spans_in_batches(monkeypatch):
    providers: list[TracerProvider] = []
    monkeypatch.setattr(trace, "set_tracer_provider", providers.append)

    project_tracing.start(wanted=True)

    (provider,) = providers
    assert provider.resource.attributes["service.name"] == "holdfast"
    (processor,) = provider._active_span_processor._span_processors
    provider.shutdown()
    assert isinstance(processor, BatchSpanProcessor)
    assert isinstance(processor.span_exporter, OTLPSpanExporter)
