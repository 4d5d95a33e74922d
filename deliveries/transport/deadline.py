"""One deadline for a whole request.

The timeouts of requests and urllib3 bound each socket operation on its own, so a peer that sends one byte every few
seconds holds a worker for ever. The sockets here ask the call under way how much time is left before they wait.
"""

import socket
import ssl
import time
from dataclasses import dataclass

# Setting a socket timeout is a system call. A timeout set this long ago still stands, so a request may overrun its
# deadline by as much.
REARM_SECONDS = 0.02


@dataclass(slots=True, eq=False)
class Call:
    """One request under way: what its sockets need to know and what they report back."""

    timeout_seconds: float
    deadline: float
    """On the clock of `time.monotonic`."""
    host: str = ""
    address: str = ""
    """The IP address dialled; empty while there is none."""
    wrote: bool = False
    """Whether any byte of the request was handed to the network."""
    certificate: str = ""
    """When the receiver's TLS certificate ends, as OpenSSL words it; empty unless a connection was opened for this."""

    def remaining(self) -> float:
        """Seconds left. Raises TimeoutError when there are none."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class _Timed(socket.socket):
    """Waits no longer than the call it works for has left, whatever timeout the layers above ask for."""

    call: Call | None = None
    _armed_for: Call | None = None
    _armed_until: float = 0.0

    def _arm(self) -> None:
        call = self.call
        if call is None:
            return
        left = call.remaining()
        now = call.deadline - left
        if self._armed_for is not call or now > self._armed_until:
            self.settimeout(left)
            self._armed_for, self._armed_until = call, now + REARM_SECONDS

    def recv_into(self, buffer: bytearray | memoryview, *limits: int) -> int:  # type: ignore[override]
        self._arm()
        return super().recv_into(buffer, *limits)

    def sendall(self, data: bytes | memoryview, flags: int = 0) -> None:  # type: ignore[override]
        rest = memoryview(data)
        while rest:
            self._arm()
            rest = rest[self.send(rest) :]
            if self.call is not None:
                self.call.wrote = True


class TimedSocket(_Timed):
    """A plain TCP socket under a deadline."""


class TimedTLSSocket(_Timed, ssl.SSLSocket):  # type: ignore[misc]
    """A TLS socket under a deadline; made by an SSLContext whose `sslsocket_class` it is."""

    def do_handshake(self, block: bool = False) -> None:
        self._arm()
        super().do_handshake(block)
