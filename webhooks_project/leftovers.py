"""The children of a stack that was killed: recorded while they run, ended by the next stack.

A record is a process id with its start time, since ids are used again. The lock tells a killed stack from a living one.
"""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from webhooks_project.embedded import processes

RELEASE_SECONDS = 1.0
"""A child of a killed stack that was just being started holds its lock until it runs its own program."""

LOOK_SECONDS = 0.02

SAME_START_SECONDS = 1.0
"""Two readings of one process's start time agree within this; a reused id is younger by far."""


class StackRunning(RuntimeError):
    """Another stack of this checkout is running."""


class ChildRecord:
    """The record and lock in `data_dir`. Raises `StackRunning` when another stack holds the lock."""

    def __init__(self, data_dir: Path) -> None:
        data_dir.mkdir(parents=True, exist_ok=True)
        self._path = data_dir / "stack.json"
        self._lock = os.open(data_dir / "stack.lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + RELEASE_SECONDS
        while not self._is_locked():
            if time.monotonic() > deadline:
                os.close(self._lock)
                raise StackRunning(f"Another stack is running on {data_dir}. Stop it, or set HOLDFAST_DATA_DIR.")
            time.sleep(LOOK_SECONDS)

    def _is_locked(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def end_leftovers(self) -> int:
        """End what a killed stack left running; return how many there were."""
        left = [process for process in map(_same_process, self._read()) if process is not None]
        processes.end(left)
        self.write([])
        return len(left)

    def write(self, pids: Iterable[int]) -> None:
        """Record the children that run now."""
        entries = []
        for pid in pids:
            with contextlib.suppress(psutil.NoSuchProcess):
                entries.append([pid, psutil.Process(pid).create_time()])
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps(entries))
        draft.replace(self._path)

    def _read(self) -> list[tuple[int, float]]:
        try:
            return [(int(pid), float(started)) for pid, started in json.loads(self._path.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []


def _same_process(entry: tuple[int, float]) -> psutil.Process | None:
    pid, started = entry
    try:
        process = psutil.Process(pid)
        return process if abs(process.create_time() - started) < SAME_START_SECONDS else None
    except psutil.NoSuchProcess:
        return None
