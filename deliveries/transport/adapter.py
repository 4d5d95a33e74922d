"""The requests adapter that sends through guarded connections."""

import functools
import ssl
from typing import Any, cast

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter

from deliveries.transport.connections import GuardedConnection, GuardedPool, GuardedTLSPool
from deliveries.transport.deadline import Call
from deliveries.transport.dialling import Dialler
from deliveries.transport.idle import IdleConnections
from endpoints.addressing import Target

# One pool is a few kilobytes; its connections are bounded elsewhere.
MAX_TARGETS = 4096


class Shipment(PreparedRequest):
    """A request ready for the adapter, built by hand: `prepare()` would parse the URL and copy the headers again."""

    def __init__(
        self, target: Target, headers: dict[str, str], body: bytes, call: Call, tls: ssl.SSLContext | None
    ) -> None:
        super().__init__()
        self.method = "POST"
        self.url = target.url
        self.headers = self.fields = headers  # type: ignore[assignment]
        self.body = self.content = body
        self.target = target
        self.call = call
        self.tls = tls


class GuardedAdapter(HTTPAdapter):
    """Sends a Shipment. No retries, redirects, proxies, netrc or cookies: none of them has a place in a delivery."""

    def __init__(self, dialler: Dialler) -> None:
        self._dialler = dialler
        self._idle: IdleConnections[GuardedConnection] = IdleConnections()
        # urllib3 builds a key of 28 fields for every look-up.
        self._pool = functools.lru_cache(MAX_TARGETS)(self._find_pool)
        super().__init__(pool_connections=MAX_TARGETS, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        """Build the pools of guarded connections."""
        super().init_poolmanager(connections, maxsize, block, **options)
        self.poolmanager.pool_classes_by_scheme = {
            "http": functools.partial(GuardedPool, idle=self._idle, dialler=self._dialler),
            "https": functools.partial(GuardedTLSPool, idle=self._idle, dialler=self._dialler),
        }

    def send(self, request: PreparedRequest, *_: Any, **__: Any) -> Response:
        """Send once and return the status and headers; `raw` is the Answer, its body unread. Raises Fault."""
        assert isinstance(request, Shipment)
        target = request.target
        pool = self._pool(target.scheme, target.host, target.port, request.tls)
        answer = pool.urlopen("POST", target.path, request.content, request.fields, call=request.call)
        response = Response()
        response.status_code = answer.status
        response.headers = answer.headers  # type: ignore[assignment]  # a plain dict, names in lower case
        response.raw = answer
        return response

    def _find_pool(self, scheme: str, host: str, port: int, tls: ssl.SSLContext | None) -> GuardedPool:
        options = {"ssl_context": tls} if tls else {}
        return cast(GuardedPool, self.poolmanager.connection_from_host(host, port, scheme, options))

    def close(self) -> None:
        """Close the connections that wait; those in use close when their call ends."""
        super().close()
        self._idle.close()
