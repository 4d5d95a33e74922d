"""The stack's processes for the length of a demo: started, watched, and ended with it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from celery import current_app

from webhooks_project.leftovers import ChildRecord

READY_SECONDS: Final = 60.0
STOP_SECONDS: Final = 15.0
"""Time for the requests in flight; nothing is left to do by then, so this passes only after Ctrl-C."""

TAIL_LINES: Final = 12


class ProcessDied(RuntimeError):
    """A process of the stack ended or never became ready; the message has the end of its log."""


@dataclass(slots=True)
class Processes:
    """Runs commands in `folder`, each with its output in a file of `logs`, and puts them on `record`."""

    record: ChildRecord
    folder: Path
    logs: Path
    environment: Mapping[str, str]
    _running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def start(self, name: str, argv: list[str]) -> None:
        """Start a process out of reach of the terminal's Ctrl-C: ending it is ours to do, in order."""
        with self._log(name).open("wb") as log:
            self._running[name] = subprocess.Popen(
                argv,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.record.write(process.pid for process in self._running.values())

    def check(self) -> None:
        """Raise ProcessDied when one has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise self._died(name, f"ended with status {process.returncode}")

    def await_workers(self, count: int) -> None:
        """Wait until that many workers answer. Raises ProcessDied."""
        deadline = time.monotonic() + READY_SECONDS
        while len(current_app.control.broadcast("ping", reply=True, limit=count, timeout=0.3) or []) < count:
            self.check()
            if time.monotonic() > deadline:
                raise self._died(next(iter(self._running)), f"did not answer within {READY_SECONDS:.0f} s")

    def stop(self) -> None:
        """End all: SIGTERM and time to finish; SIGKILL after it, or at a second Ctrl-C."""
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            for process in self._running.values():
                process.wait(max(0.0, deadline - time.monotonic()))
        for process in self._running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._running.clear()
        self.record.write([])

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _died(self, name: str, how: str) -> ProcessDied:
        lines = self._log(name).read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return ProcessDied("\n".join([f"{name} {how}. The end of {self._log(name)}:", *lines]))
