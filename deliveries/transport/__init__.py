"""The way out: one request in, what happened on the wire out. `HttpTransport` and `MemoryTransport` are twins."""

from deliveries.transport.http_transport import HttpTransport
from deliveries.transport.memory_transport import MemoryTransport
from deliveries.transport.request import Request, Transport

__all__ = ["HttpTransport", "MemoryTransport", "Request", "Transport"]
