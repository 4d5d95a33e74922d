"""Requests over the network."""

import socket
import time
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import cast

from deliveries.outcomes import Exchange
from deliveries.transport.adapter import GuardedAdapter, Shipment
from deliveries.transport.answers import Answer, clean_header, clean_text
from deliveries.transport.deadline import Call
from deliveries.transport.dialling import Dialler
from deliveries.transport.faults import Fault, surprise_fault
from deliveries.transport.lookups import Resolver
from deliveries.transport.request import DEFAULT_USER_AGENT, Request, headers_to_send, target_of
from deliveries.transport.tls import certificate_end, tls_context

MAX_BODY_BYTES = 64 * 1024
"""How much of an answer is read before its connection is closed instead."""
SNIPPET_BYTES = 2 * 1024
"""How much of an answer is kept."""


class HttpTransport:
    """Sends requests over pooled, guarded connections.

    Safe to use from many threads. Make one per process, after forking: connections must not be shared by processes.
    `allowed_networks` are exempt from the address guard. `resolver` answers like `socket.getaddrinfo`.
    """

    def __init__(
        self,
        allowed_networks: Sequence[IPv4Network | IPv6Network] = (),
        *,
        user_agent: str = DEFAULT_USER_AGENT,
        max_body_bytes: int = MAX_BODY_BYTES,
        snippet_bytes: int = SNIPPET_BYTES,
        resolver: Resolver = socket.getaddrinfo,
    ) -> None:
        self._adapter = GuardedAdapter(Dialler(resolver, allowed_networks))
        self._user_agent = user_agent
        self._max_body_bytes = max_body_bytes
        self._snippet_bytes = snippet_bytes
        # Reading the public certificates takes milliseconds that would come off the first request's deadline.
        tls_context()

    def send(self, request: Request) -> Exchange:
        """Send once, within `request.timeout_seconds` for everything, and say what happened. Never raises."""
        started = time.monotonic()
        call = Call(request.timeout_seconds, started + request.timeout_seconds)
        exchange = Exchange()
        try:
            self._send(request, call, exchange)
        except Fault as fault:
            exchange.failure, exchange.error = fault.failure, fault.sentence
        except Exception as error:
            surprise = surprise_fault(error, wrote=call.wrote)
            exchange.failure, exchange.error = surprise.failure, surprise.sentence
        exchange.host, exchange.address = call.host, call.address
        exchange.certificate_ends_at = certificate_end(call.certificate)
        exchange.duration_ms = round((time.monotonic() - started) * 1000)
        return exchange

    def close(self) -> None:
        """Close the connections that wait for a next request."""
        self._adapter.close()

    def _send(self, request: Request, call: Call, exchange: Exchange) -> None:
        target = target_of(request.url)
        call.host = target.host
        headers = headers_to_send(request, target, self._user_agent)
        tls = tls_context(request.ca_pem) if target.scheme == "https" else None
        response = self._adapter.send(Shipment(target, headers, request.body, call, tls))
        exchange.status_code = response.status_code
        exchange.retry_after = clean_header(response.headers.get("retry-after"))
        exchange.location = clean_header(response.headers.get("location"))
        answer = cast(Answer, response.raw)
        try:
            exchange.snippet = clean_text(answer.read_some(self._max_body_bytes, self._snippet_bytes))
        finally:
            answer.done()
