"""The stack's supervisor: starts the children, starts again what dies, and ends all of them in order."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from webhooks_project.children import Child, say
from webhooks_project.leftovers import ChildRecord

LOOK_SECONDS = 0.2
TEND_SECONDS = 2.0
"""How often `tend` runs: it looks after what the children need, such as the embedded servers."""
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True)
class Supervisor:
    """Runs `children` in `folder` until told to stop. `stop_seconds` is their time to finish after SIGTERM."""

    children: list[Child]
    record: ChildRecord
    folder: Path
    environment: Mapping[str, str]
    stop_seconds: float
    tend: Callable[[], object] = lambda: None
    _asked: threading.Event = field(default_factory=threading.Event)
    _hurry: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Start everything and stay until SIGINT, SIGTERM or SIGHUP; a second signal kills instead of waiting."""
        before = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            self._watch()
        finally:
            self._stop()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _watch(self) -> None:
        tend_at = time.monotonic() + TEND_SECONDS
        while not self._asked.is_set():
            now = time.monotonic()
            for child in self.children:
                self._look_after(child, now)
            if now >= tend_at:
                self._tend()
                tend_at = time.monotonic() + TEND_SECONDS
            self._asked.wait(LOOK_SECONDS)

    def _look_after(self, child: Child, now: float) -> None:
        if child.process is None:
            if now >= child.due_at:
                child.start(self.folder, self.environment, now)
                self._write_record()
        elif not child.is_running():
            status = child.process.returncode
            pause = child.note_death(now)
            say("stack", f"{child.name} ended with status {status}; starting it again in {pause:.0f} s")
            self._write_record()

    def _tend(self) -> None:
        try:
            self.tend()
        except Exception as error:
            # A server that does not come back now may come back at the next look; the children wait for it meanwhile.
            say("stack", f"{type(error).__name__}: {error}")

    def _stop(self) -> None:
        say("stack", f"stopping (up to {self.stop_seconds:.0f} s; Ctrl-C again kills)")
        self._end(child for child in self.children if not child.serves_others)
        self._end(child for child in self.children if child.serves_others)
        self._write_record()

    def _end(self, group: Iterable[Child]) -> None:
        running = [child for child in group if child.is_running()]
        for child in running:
            child.signal(signal.SIGTERM)
        deadline = time.monotonic() + self.stop_seconds
        while running and time.monotonic() < deadline and not self._hurry.is_set():
            running = [child for child in running if not child.wait_until(time.monotonic() + LOOK_SECONDS)]
        for child in running:
            say("stack", f"{child.name} did not end in time and is killed")
            child.signal(signal.SIGKILL)
            child.wait_until(time.monotonic() + self.stop_seconds)

    def _write_record(self) -> None:
        self.record.write(child.process.pid for child in self.children if child.process and child.is_running())

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        (self._hurry if self._asked.is_set() else self._asked).set()
