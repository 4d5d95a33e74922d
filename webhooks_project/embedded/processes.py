"""Server processes found by what they are (name and working folder), never by a recorded number alone.

Process ids are used again, in a restarted container at once; a pid file says nothing about who has that id today.
"""

import contextlib
import time
from pathlib import Path

import psutil

GRACE_SECONDS = 5.0
POLL_SECONDS = 0.02


def serving(name: str, folder: Path) -> list[psutil.Process]:
    """Return the live processes called `name` whose working folder is `folder`."""
    return [process for process in psutil.process_iter() if _is(process, name, folder.resolve())]


def end(processes: list[psutil.Process]) -> None:
    """Ask `processes` to end (SIGTERM), wait up to 5 s, then end the rest (SIGKILL)."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    for process in await_end(processes, GRACE_SECONDS):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    await_end(processes, GRACE_SECONDS)


def await_end(processes: list[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait up to `seconds` for `processes` to end; return those still there."""
    deadline = time.monotonic() + seconds
    while left := [process for process in processes if is_alive(process)]:
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    return left


def is_alive(process: psutil.Process) -> bool:
    """Say whether `process` still runs. A zombie does not: in a container nobody may ever come to reap it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _is(process: psutil.Process, name: str, folder: Path) -> bool:
    try:
        return process.name() == name and is_alive(process) and Path(process.cwd()) == folder
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
