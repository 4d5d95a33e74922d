"""One process of the stack: in a session of its own, each line behind its name, started again when it dies."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 30.0
"""A child that lived this long is healthy: its next death is a first death."""

_one_line_at_a_time = threading.Lock()


def say(name: str, line: str) -> None:
    """Print one line of the stack's log, whole, behind the name of who says it."""
    with _one_line_at_a_time:
        sys.stdout.write(f"{name:<9} | {line.rstrip()}\n")
        sys.stdout.flush()


@dataclass(slots=True)
class Child:
    """What to run and how it is doing. `serves_others` marks what the other children need until they have finished."""

    name: str
    argv: list[str]
    serves_others: bool = False
    process: "subprocess.Popen[str] | None" = None
    deaths: int = 0
    started_at: float = 0.0
    due_at: float = field(default=0.0)

    def start(self, folder: Path, environment: Mapping[str, str], now: float) -> None:
        """Start the process, out of reach of the terminal's Ctrl-C: that is the stack's to handle."""
        self.started_at = now
        self.process = subprocess.Popen(
            self.argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        threading.Thread(target=self._relay, args=(self.process,), daemon=True).start()

    def is_running(self) -> bool:
        """Say whether the process lives."""
        return self.process is not None and self.process.poll() is None

    def note_death(self, now: float) -> float:
        """Set the time of the next start and return the pause before it, in seconds: 1, 2, 4 ... 30."""
        steady = now - self.started_at >= STEADY_SECONDS
        self.deaths = 1 if steady else self.deaths + 1
        pause = min(FIRST_PAUSE_SECONDS * 2.0 ** (self.deaths - 1), LONGEST_PAUSE_SECONDS)
        self.due_at = now + pause
        self.process = None
        return pause

    def signal(self, number: signal.Signals) -> None:
        """Signal the process; SIGKILL goes to everything in its session's process group."""
        if not self.is_running() or self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def wait_until(self, deadline: float) -> bool:
        """Wait for the end of the process until `deadline` (monotonic seconds); true when it has ended."""
        if self.process is None:
            return True
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        return True

    def _relay(self, process: "subprocess.Popen[str]") -> None:
        if process.stdout is not None:
            with process.stdout as lines:
                for line in lines:
                    say(self.name, line)
