"""The processes of a chaos run, by name: started again a moment after they die, as any supervisor does."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.chaos.cast import POISON
from tests.chaos.ground import ROOT
from webhooks_project import roles

WORKERS: Final[dict[str, list[str]]] = {
    "healthy1": roles.worker("healthy1", roles.HEALTHY_QUEUES),
    "healthy2": roles.worker("healthy2", roles.HEALTHY_QUEUES),
    "slow": roles.worker("slow", roles.SLOW_QUEUES),
}
HEALTHY: Final = ("healthy1", "healthy2")
BEAT: Final = "beat"
COMMANDS: Final = {**WORKERS, BEAT: roles.beat()}

RESTART_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.05
STOP_SECONDS: Final = 30.0
START_SECONDS: Final = 60.0
HOOKS: Final = Path(__file__).parent / "hooks"


class Crew:
    """Runs `commands`, each with its output in a file of `folder`."""

    def __init__(self, folder: Path, commands: Mapping[str, list[str]]) -> None:
        self.folder = folder
        self.commands = dict(commands)
        self.deaths: list[tuple[str, int]] = []
        self._extra: dict[str, dict[str, str]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._down: set[str] = set()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._supervisor: threading.Thread | None = None

    def start(self, *names: str, **extra: str) -> None:
        """Start processes, with these environment variables besides, until they are started otherwise."""
        with self._lock:
            for name in names:
                self._down.discard(name)
                self._extra[name] = extra
                if name not in self._running:
                    self._spawn(name)

    def supervise(self, on_death: Callable[[str], None]) -> None:
        """From now on, start again whoever dies by itself; `on_death` is called first, in another thread."""
        self._supervisor = threading.Thread(target=self._supervise, args=(on_death,), name="supervisor", daemon=True)
        self._supervisor.start()

    def await_ready(self, *names: str, sign: str = "ready.") -> None:
        """Wait until processes that were started say so in their logs; workers do when they take messages."""
        deadline = time.monotonic() + START_SECONDS
        for name in names:
            while sign not in self.log(name):
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{name} did not start:\n{self.log(name)[-2000:]}")
                time.sleep(LOOK_SECONDS)

    def kill(self, *names: str) -> None:
        """SIGKILL them and what they started, at one moment, and wait until they are gone: down until `start`."""
        with self._lock:
            self._down.update(names)
            doomed = [self._running.pop(name) for name in names if name in self._running]
            for process in doomed:
                # Each leads a session of its own. One that has just died by itself has no group any more.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        for process in doomed:
            process.wait()

    def stop(self, *names: str) -> float:
        """SIGTERM and wait until all have ended; returns how many seconds it took. They stay down until `start`."""
        with self._lock:
            self._down.update(names)
            leaving = [self._running.pop(name) for name in names]
        began = time.monotonic()
        for process in leaving:
            process.terminate()
        for process in leaving:
            try:
                process.wait(max(0.0, began + STOP_SECONDS - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        return time.monotonic() - began

    def signal(self, number: signal.Signals, *names: str) -> None:
        """Signal processes, e.g. SIGSTOP and SIGCONT."""
        with self._lock:
            for name in names:
                if name in self._running:
                    self._running[name].send_signal(number)

    def end(self) -> None:
        """End everything, by force where asking takes long."""
        self._ended.set()
        if self._supervisor:
            self._supervisor.join()
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._running.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            if process.poll() is None:
                process.kill()
                process.wait()
        self._running.clear()

    def running(self) -> list[str]:
        """The names of what runs."""
        with self._lock:
            return [name for name, process in self._running.items() if process.poll() is None]

    def log(self, name: str) -> str:
        """What the process said since it was last started."""
        path = self._path(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def _spawn(self, name: str) -> None:
        path = self._path(name)
        if path.exists():
            # What the one before said stays beside it, for whoever wants to know why.
            with path.with_suffix(".before.log").open("ab") as before:
                before.write(path.read_bytes())
        hooks = {"PYTHONPATH": f"{HOOKS}{os.pathsep}{ROOT}", "CHAOS_PARENT": str(os.getpid()), "CHAOS_POISON": POISON}
        with path.open("wb") as log:
            self._running[name] = subprocess.Popen(
                self.commands[name],
                cwd=ROOT,
                # Who is up says so at INFO.
                env={**os.environ, "LOG_LEVEL": "INFO", **hooks, **self._extra.get(name, {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _supervise(self, on_death: Callable[[str], None]) -> None:
        due: dict[str, float] = {}
        while not self._ended.wait(LOOK_SECONDS):
            now = time.monotonic()
            for name in self._just_died():
                due[name] = now + RESTART_SECONDS
                on_death(name)
            with self._lock:
                for name in [name for name, at in due.items() if now >= at]:
                    del due[name]
                    if name not in self._down and name not in self._running:
                        self._spawn(name)

    def _just_died(self) -> list[str]:
        with self._lock:
            dead = [name for name, process in self._running.items() if process.poll() is not None]
            for name in dead:
                self.deaths.append((name, self._running.pop(name).returncode))
            return dead

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.log"
