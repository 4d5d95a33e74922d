"""The worker processes of one leg: started together, ready together, ended together."""

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from bench.errors import BenchFailed
from bench.leash import READY_FOLDER
from webhooks_project.roles import ENVIRONMENT

REPOSITORY = Path(__file__).resolve().parents[1]
START_SECONDS = 30.0
STOP_SECONDS = 10.0
POLL_SECONDS = 0.02


class CrewFailed(BenchFailed):
    """A worker process did not start, or ended before its work was done; the message ends with what it said."""


class Crew:
    """`count` processes for the length of a `with` block; `command` gives the command line of each number from 1."""

    def __init__(self, command: Callable[[int], list[str]], count: int) -> None:
        self._command = command
        self._count = count
        self._folder = tempfile.TemporaryDirectory(prefix="holdfast-bench-")
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            for number in range(1, self._count + 1):
                self._processes.append(self._start(number))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pids(self) -> list[int]:
        """Process ids, in the order of their start."""
        return [process.pid for process in self._processes]

    def tell(self, line: str) -> None:
        """Write one line to everybody's standard input."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.write(line.encode() + b"\n")

    def wait_ready(self) -> None:
        """Wait until every process said so. Raises CrewFailed."""
        deadline = time.monotonic() + START_SECONDS
        while not all((Path(self._folder.name) / str(pid)).exists() for pid in self.pids):
            self.check()
            if time.monotonic() > deadline:
                raise CrewFailed(f"The workers were not ready within {START_SECONDS:g} s.{self._last_words()}")
            time.sleep(POLL_SECONDS)

    def check(self) -> None:
        """Raise CrewFailed when somebody is gone."""
        for process in self._processes:
            if process.poll() is not None:
                raise CrewFailed(f"Worker {process.pid} ended with status {process.returncode}.{self._last_words()}")

    def stop(self) -> None:
        """Ask everybody to end, kill who does not within ten seconds."""
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        self._processes.clear()
        self._folder.cleanup()

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        # Logged as in production, a line for each attempt, unless the caller says otherwise.
        environment = {**ENVIRONMENT, "LOG_FORMAT": "json", **os.environ, READY_FOLDER: self._folder.name}
        with (Path(self._folder.name) / f"{number}.log").open("wb") as log:
            return subprocess.Popen(
                self._command(number),
                cwd=REPOSITORY,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                bufsize=0,
            )

    def _last_words(self) -> str:
        logs = sorted(Path(self._folder.name).glob("*.log"))
        return "".join(f"\n--- {log.name}\n{log.read_text(errors='replace')[-2000:]}" for log in logs)
