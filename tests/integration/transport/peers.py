"""Receivers for the tests of the transport: raw sockets that answer, misbehave and remember, all on this machine."""

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PATIENCE_SECONDS = 5.0


@dataclass
class Received:
    """One request as it came in."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


@dataclass
class Peer:
    """The receiver's end of one connection."""

    sock: socket.socket
    receiver: "Receiver"
    number: int

    def __post_init__(self):
        self._lines = self.sock.makefile("rb")

    def read(self) -> Received | None:
        """The next request, or None at the end of the connection."""
        line = self._lines.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        headers = []
        while field_line := self._lines.readline().decode("latin-1").rstrip("\r\n"):
            name, _, value = field_line.partition(":")
            headers.append((name, value.strip()))
        length = int({name.lower(): value for name, value in headers}.get("content-length", 0))
        request = Received(line, headers, self._lines.read(length))
        self.receiver.requests.append(request)
        return request

    def say(self, text: str | bytes) -> None:
        self.sock.sendall(text.encode() if isinstance(text, str) else text)

    def drip(self, text: bytes, every_seconds: float = 0.03) -> None:
        """Send a byte at a time, over and over, until the other side is gone."""
        while not self.receiver.stopping.is_set():
            for byte in text:
                self.say(bytes([byte]))
                if self.receiver.stopping.wait(every_seconds):
                    return

    def wait(self) -> None:
        """Say nothing until the test is over."""
        self.receiver.stopping.wait(PATIENCE_SECONDS)

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        if not self._lines.closed:
            self._lines.close()
            self.sock.close()
            self.receiver.closed.release()


Behaviour = Callable[[Peer], object]


@dataclass
class Receiver:
    """Listens until stopped; each connection gets a thread that runs the behaviour."""

    behaviour: Behaviour
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)
    closed: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self):
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.create_server((self.host, 0), family=family, backlog=256)
        self.port = self._listener.getsockname()[1]
        self._peers: list[Peer] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def url(self, path: str = "/hook", *, host: str | None = None) -> str:
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{f'{host}:{self.port}' if host else self.authority}{path}"

    def wait_until_closed(self) -> None:
        """Wait until the receiver has closed one connection more."""
        assert self.closed.acquire(timeout=PATIENCE_SECONDS)

    def stop(self) -> None:
        self.stopping.set()
        # Wakes the thread that waits in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in list(self._peers):
            self._hang_up(peer)
        for thread in list(self._threads):
            thread.join(PATIENCE_SECONDS)

    @staticmethod
    def _hang_up(peer: Peer) -> None:
        try:
            peer.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        try:
            if self.tls:
                sock = self.tls.wrap_socket(sock, server_side=True)
        except OSError:
            sock.close()
            return
        peer = Peer(sock, self, number)
        self._peers.append(peer)
        try:
            self.behaviour(peer)
        except OSError:
            # The sender went away first.
            return
        finally:
            peer.close()


def answering(text: str | bytes = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> Behaviour:
    """Give every request the same answer and stay open for more."""

    def behaviour(peer: Peer) -> None:
        while peer.read():
            peer.say(text)

    return behaviour


def closed_port() -> int:
    """A port of 127.0.0.1 on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def resolving(*answers: list[str]) -> Callable[..., list[tuple[Any, ...]]]:
    """A resolver that gives these addresses, one list a lookup, and stays with the last."""
    left = list(answers)

    def resolver(host, port, *_args, **_options):
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_UNSPEC, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolver
