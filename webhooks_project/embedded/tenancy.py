"""Who uses the embedded servers of a data folder, and who turns off the light.

Each process holds a shared lock on `users.lock` for as long as it lives; the kernel drops it however the process ends.
At a normal exit a process asks for the exclusive lock without waiting: whoever gets it was the last.
"""

import atexit
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from webhooks_project.embedded.account import open_private
from webhooks_project.embedded.errors import ServerNotStarted

Duty = Callable[[Path], None]

_tenants: dict[Path, int] = {}
"""Data folder -> descriptor of the shared lock that this process holds."""


@contextmanager
def moving_in(data_dir: Path, at_last_exit: Duty) -> Iterator[None]:
    """Become a user of `data_dir` and hold its start lock meanwhile, so that one process at a time starts servers.

    Raises `ServerNotStarted` when the folder belongs to somebody else.
    """
    starting = _first_lock(data_dir)
    try:
        fcntl.flock(starting, fcntl.LOCK_EX)
        _become_user(data_dir, at_last_exit)
        yield
    finally:
        os.close(starting)


def evict(data_dir: Path, *duties: Duty) -> bool:
    """Do `duties` while nobody else uses `data_dir`; false, with nothing done, when somebody does."""
    if not data_dir.exists():
        return True
    own = _tenants.pop(data_dir, None)
    users = _open(data_dir / "users.lock") if own is None else own
    try:
        # Newcomers wait for this lock with the start lock in hand, so they find the servers down, never half down.
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        for duty in duties:
            duty(data_dir)
        return True
    finally:
        os.close(users)


def _become_user(data_dir: Path, at_last_exit: Duty) -> None:
    if data_dir in _tenants:
        return
    users = _open(data_dir / "users.lock")
    fcntl.flock(users, fcntl.LOCK_SH)
    _tenants[data_dir] = users
    atexit.register(_move_out, data_dir, at_last_exit)


def _move_out(data_dir: Path, at_last_exit: Duty) -> None:
    if data_dir in _tenants:
        evict(data_dir, at_last_exit)


def _forget_inherited() -> None:
    # A forked child is not a user: its parent answers for it. Closing (never unlocking) leaves the parent's lock alone.
    for descriptor in _tenants.values():
        os.close(descriptor)
    _tenants.clear()


os.register_at_fork(after_in_child=_forget_inherited)


def _first_lock(data_dir: Path) -> int:
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=_folder_mode())
        return _open(data_dir / "start.lock")
    except PermissionError as error:
        raise ServerNotStarted(
            f"{data_dir} belongs to another user. Run as that user, or set HOLDFAST_DATA_DIR to a folder of your own."
        ) from error


def _open(path: Path) -> int:
    return open_private(path, os.O_RDWR)


def _folder_mode() -> int:
    # As root the database runs under an account of its own, which must be able to walk through (not list) the folder.
    return 0o711 if os.geteuid() == 0 else 0o700
