"""Runs a receiver in its own process and talks to it; synchronous, standard library only."""

import http.client
import json
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 15.0
STOP_SECONDS = 5.0


class ReceiverFailed(RuntimeError):
    """The receiver did not start, or refused a control call; the message says why."""


class ReceiverProcess:
    """A receiver on a free port for the length of a ``with`` block.

    It ends with the block, and also when this process dies, because it holds the other end of its standard input.
    Every call raises ReceiverFailed when the receiver says no, and OSError when it is gone.
    """

    def __init__(
        self, *, host: str = "127.0.0.1", port: int = 0, log: Path | None = None, options: list[str] | None = None
    ):
        self._host = host
        self._command = [
            sys.executable,
            "-m",
            "demo.receiver",
            "--host",
            host,
            "--port",
            str(port),
            "--until-stdin-closes",
        ]
        self._command += ["--log", str(log.resolve())] if log else []
        self._command += options or []
        self._process: subprocess.Popen[bytes] | None = None
        self.port = port
        self.base_url = ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id of the running receiver."""
        if self._process is None:
            raise ReceiverFailed("the receiver is not running")
        return self._process.pid

    def start(self) -> Self:
        """Start it and wait until it accepts connections."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, cwd=REPOSITORY, stdin=pipe, stdout=pipe)
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], START_SECONDS)
        line = self._process.stdout.readline() if readable else b""
        try:
            ready = json.loads(line)
            self.base_url, self.port = ready["url"], ready["port"]
        except ValueError:
            self.stop()
            raise ReceiverFailed(f"not ready within {START_SECONDS:g} s; its standard error says why") from None
        return self

    def stop(self) -> None:
        """End it in good order; kill it when it does not go within five seconds."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()

    def url(self, path: str) -> str:
        """The whole URL of a path such as ``/ok/17``."""
        return f"{self.base_url}/{path.lstrip('/')}"

    def behave(self, name: str, behaviour: str) -> None:
        """Let ``/named/<name>`` behave like this from now on, e.g. ``status/503``."""
        self._call("PUT", f"/_behaviour/{quote(name, safe='')}", behaviour.encode())

    def secret(self, name: str, *secrets: str) -> None:
        """Secrets in force for paths that end in ``/<name>``; any of them may sign."""
        self._call("PUT", f"/_secret/{quote(name, safe='')}", " ".join(secrets).encode())

    def requests(self, path: str | None = None, **ask: str | int) -> list[dict[str, Any]]:
        """What was received, oldest first; ``path``, ``prefix``, ``after``, ``limit`` and ``bodies=0`` narrow it."""
        found: list[dict[str, Any]] = self._call("GET", "/_requests" + _query(path=path, **ask))
        return found

    def stats(self) -> dict[str, Any]:
        """Counts in all, by answer and by path; see ``tallies.Tally`` for their meaning."""
        return self._object("GET", "/_stats")

    def verify(self) -> dict[str, Any]:
        """Check every signature received so far; ``bad_signatures``, ``unsigned`` and ``stale`` should be 0."""
        return self._object("GET", "/_verify")

    def wait_for(self, *, timeout: float = 10.0, path: str | None = None, **counted: int) -> bool:
        """Wait until ``requests=``, ``distinct=`` or ``accepted=`` reaches a number; False after ``timeout`` s."""
        target = "/_wait" + _query(path=path, timeout=timeout, **counted)
        found = self._object("GET", target, timeout=timeout + STOP_SECONDS, fine=(200, 408))
        return bool(found["reached"])

    def forget(self) -> None:
        """Forget what was received; names, secrets and the log stay."""
        self._call("DELETE", "/_requests")

    def _object(
        self, method: str, target: str, *, timeout: float = 60.0, fine: tuple[int, ...] = (200,)
    ) -> dict[str, Any]:
        found: dict[str, Any] = self._call(method, target, timeout=timeout, fine=fine)
        return found

    def _call(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        *,
        timeout: float = 60.0,
        fine: tuple[int, ...] = (200,),
    ) -> Any:
        connection = http.client.HTTPConnection(self._host, self.port, timeout=timeout)
        try:
            connection.request(method, target, body)
            answer = connection.getresponse()
            found = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status not in fine:
            raise ReceiverFailed(f"{method} {target}: {found.get('error', answer.status)}")
        return found


def _query(**ask: str | float | None) -> str:
    known = {key: value for key, value in ask.items() if value is not None}
    return "?" + urlencode(known) if known else ""
