"""The span of an attempt: in the trace of whoever published the event, named as OpenTelemetry's conventions ask.

Conventions: https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span and
https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/. They ask for the whole URL, whose path and query
are credentials for many services: they are written as REDACTED.
"""

from dataclasses import dataclass
from typing import Final

from deliveries import tracing
from deliveries.outcomes import Exchange, Kind, Outcome
from deliveries.recipients import Recipient
from deliveries.transitions.claim import Claimed
from deliveries.transport.faults import Fault
from deliveries.transport.request import target_of

try:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    from opentelemetry.util.types import AttributeValue
except ImportError:
    # Then nothing below is reached that needs them.
    pass

INSTRUMENTATION: Final = "holdfast.deliveries"

_is_installed = tracing.is_installed()


@dataclass(slots=True)
class AttemptSpan:
    """A span that was begun, and what a receiver is told of it; without OpenTelemetry, what the publisher left."""

    traceparent: str | None
    _span: "trace.Span | None" = None

    def end(self, exchange: Exchange, outcome: Outcome) -> None:
        """Write down how the attempt went."""
        span = self._span
        if span is None:
            return
        if span.is_recording():
            span.set_attributes(_ending(exchange, outcome))
            if outcome.kind is not Kind.DELIVERED:
                span.set_status(trace.StatusCode.ERROR, outcome.kind)
        span.end()


def begin(claimed: Claimed, recipient: Recipient) -> AttemptSpan:
    """Begin the span of an attempt, as a child of the publisher's span where there is one."""
    if not _is_installed:
        return AttemptSpan(claimed.traceparent)
    # A context of its own: whatever else is under way in this thread has nothing to do with the delivery.
    parent = Context()
    if claimed.traceparent:
        parent = TraceContextTextMapPropagator().extract({"traceparent": claimed.traceparent}, parent)
    span = trace.get_tracer(INSTRUMENTATION).start_span(
        "POST", context=parent, kind=trace.SpanKind.CLIENT, attributes=_beginning(claimed, recipient)
    )
    return AttemptSpan(tracing.traceparent_of(span), span)


def _beginning(claimed: Claimed, recipient: Recipient) -> "dict[str, AttributeValue]":
    attributes: dict[str, AttributeValue] = {
        "http.request.method": "POST",
        "messaging.system": "holdfast",
        "messaging.operation.type": "send",
        "messaging.operation.name": "deliver",
        "messaging.destination.name": claimed.event_type,
        "messaging.destination.subscription.name": str(claimed.endpoint_id),
        "messaging.message.id": claimed.event_id,
        "messaging.message.body.size": len(claimed.body),
        "holdfast.delivery.id": claimed.id,
        "holdfast.endpoint.id": claimed.endpoint_id,
        "holdfast.attempt": claimed.number,
    }
    if claimed.tenant:
        attributes["holdfast.tenant"] = claimed.tenant
    if claimed.number > 1:
        attributes["http.request.resend_count"] = claimed.number - 1
    return attributes | _where(recipient)


def _where(recipient: Recipient) -> "dict[str, AttributeValue]":
    try:
        target = target_of(recipient.url)
    except Fault:
        # The transport says so in the outcome.
        return {}
    return {
        "url.full": f"{target.scheme}://{target.authority}/REDACTED",
        "url.scheme": target.scheme,
        "server.address": target.host,
        "server.port": target.port,
    }


def _ending(exchange: Exchange, outcome: Outcome) -> "dict[str, AttributeValue]":
    attributes: dict[str, AttributeValue] = {"holdfast.outcome": outcome.kind.value}
    if exchange.status_code is not None:
        attributes["http.response.status_code"] = exchange.status_code
    if exchange.address:
        attributes["network.peer.address"] = exchange.address
    if outcome.kind is not Kind.DELIVERED:
        attributes["error.type"] = str(exchange.status_code or outcome.kind.value)
    return attributes
