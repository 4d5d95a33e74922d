"""urllib3 connections behind the connect-time guard, and the pools that keep them.

The pool class replaces `urlopen` as a whole. urllib3's own one retries, follows redirects, knows proxies and logs the
URL; none of that may happen here, and doing without it saves half of the CPU time of a request.
"""

import functools
import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from typing import Any, cast

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.util.wait import wait_for_read

from deliveries.outcomes import Failure
from deliveries.transport.answers import Answer
from deliveries.transport.deadline import Call, TimedSocket, TimedTLSSocket
from deliveries.transport.dialling import Dialler
from deliveries.transport.faults import Fault, answer_fault, handshake_fault
from deliveries.transport.idle import IdleConnections

# A busy connection is never idle, so age ends it: then the name is looked up and judged again, and a receiver that has
# moved (DNS failover) is found. One minute is a common time-to-live of records meant to change.
MAX_AGE_SECONDS = 60.0


class GuardedConnection(HTTPConnection):
    """An HTTP connection whose address was judged, working for one call at a time."""

    call: Call
    address: str = ""
    opened: float = 0.0
    """When it was dialled, on the clock of `time.monotonic`."""
    sock: TimedSocket | TimedTLSSocket | None

    def __init__(self, host: str, port: int | None = None, *, dialler: Dialler, **options: Any) -> None:
        super().__init__(host, port, **options)
        self._dialler = dialler

    def work_for(self, call: Call) -> None:
        """Serve this call from now on."""
        self.call = call
        call.address = self.address
        if self.sock is not None:
            self.sock.call = call

    def connect(self) -> None:
        """Dial a judged address. Raises Fault."""
        self.sock = self._dialler.dial(self.host, self.port, self.call)
        self.address, self.opened = self.call.address, time.monotonic()

    @property
    def is_connected(self) -> bool:
        """Whether an idle connection is still good: age, and bytes or an end of file between two requests, spoil it."""
        if self.sock is None or time.monotonic() - self.opened > MAX_AGE_SECONDS:
            return False
        return not wait_for_read(self.sock, timeout=0.0)

    def request(  # type: ignore[override]
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], **_: Any
    ) -> None:
        """Send a request whose parts are checked already, in one write: mostly one packet. Raises Fault."""
        lines = [f"{method} {url} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self._send_out("\r\n".join(lines).encode("ascii") + body)

    def getresponse(self) -> Answer:  # type: ignore[override]
        """Wait for the status and headers. Raises Fault."""
        # Not by way of urllib3, which logs the whole URL when a header is malformed.
        answer = Answer(cast(socket.socket, self.sock), method="POST")
        try:
            answer.begin()
        except (OSError, http.client.HTTPException) as error:
            answer.close()
            raise answer_fault(error, self.call.host, timeout_seconds=self.call.timeout_seconds) from None
        return answer

    def _send_out(self, message: bytes) -> None:
        # A kept connection that took not a single byte is dead: using a new one repeats nothing.
        if self.sock is not None and self._hand_over(message):
            return
        self.connect()
        if not self._hand_over(message):
            raise Fault(Failure.CONNECTION, f"{self.call.host} broke the connection before the request was sent")

    def _hand_over(self, message: bytes) -> bool:
        """Write the request; False when the connection broke before the first byte. Raises Fault when time runs out."""
        assert self.sock is not None
        try:
            self.sock.sendall(message)
        except TimeoutError:
            raise Fault(
                Failure.TIMEOUT, f"{self.call.host} did not take the request within {self.call.timeout_seconds:g} s"
            ) from None
        except OSError:
            if not self.call.wrote:
                self.sock.close()
                self.sock = None
                return False
            # A receiver may answer, with 413 for example, and close before it took everything: see if it did.
        return True


class GuardedTLSConnection(GuardedConnection, HTTPSConnection):
    """The same over TLS. The certificate is checked against the name, whatever address was dialled."""

    ssl_context: ssl.SSLContext
    sock: TimedTLSSocket | None

    def connect(self) -> None:
        """Dial a judged address and shake hands. Raises Fault."""
        plain = self._dialler.dial(self.host, self.port, self.call)
        self.address, self.opened = self.call.address, time.monotonic()
        sock: TimedTLSSocket | None = None
        try:
            sock = cast(
                TimedTLSSocket,
                self.ssl_context.wrap_socket(plain, server_hostname=self.host, do_handshake_on_connect=False),
            )
            sock.call = self.call
            sock.do_handshake()
        except OSError as error:
            (sock or plain).close()
            raise handshake_fault(error, self.call.host, self.call.timeout_seconds) from None
        self.sock = sock
        self.is_verified = True
        # Tens of microseconds, beside a handshake that takes a millisecond and more.
        self.call.certificate = str((sock.getpeercert() or {}).get("notAfter", ""))

    @property
    def is_connected(self) -> bool:
        """As for plain connections; bytes may also wait decrypted inside the TLS layer."""
        return self.sock is not None and not self.sock.pending() and super().is_connected


class GuardedPool(HTTPConnectionPool):
    """The connections to one target."""

    ConnectionCls = GuardedConnection  # type: ignore[assignment]

    def __init__(self, host: str, port: int, *, idle: IdleConnections[GuardedConnection], **options: Any) -> None:
        super().__init__(host, port, **options)
        self._idle = idle

    def urlopen(  # type: ignore[override]
        self, method: str, url: str, body: bytes, headers: Mapping[str, str], *, call: Call, **_: Any
    ) -> Answer:
        """Send once, on a kept connection or a new one, and return the answer with its body unread. Raises Fault.

        The answer's `done` gives the connection back.
        """
        connection = self._idle.take(self) or cast(GuardedConnection, self._new_conn())
        connection.work_for(call)
        try:
            connection.request(method, url, body, headers)
            answer = connection.getresponse()
        except BaseException:
            connection.close()
            raise
        answer.on_done = functools.partial(self._give_back, connection)
        return answer

    def _give_back(self, connection: GuardedConnection, *, usable: bool) -> None:
        if usable:
            self._idle.put(self, connection)
        else:
            connection.close()


class GuardedTLSPool(GuardedPool, HTTPSConnectionPool):
    """The TLS connections to one target with one set of trusted certificates."""

    ConnectionCls = GuardedTLSConnection  # type: ignore[assignment]
