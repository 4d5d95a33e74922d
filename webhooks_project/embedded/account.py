"""Which system account the PostgreSQL server runs under, and how a command is run as that account.

PostgreSQL refuses to run as root: started by root it runs under an unprivileged account, by anyone else as them.
"""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ACCOUNT_NAME = "pgserver"


@dataclass(frozen=True, slots=True)
class Account:
    """A user and group to change to; only root can."""

    uid: int
    gid: int

    def run(self, argv: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run `argv` to its end as this account, away from the terminal; never raises for its status."""
        return run_detached(argv, user=self.uid, group=self.gid, extra_groups=[], **options)

    def reaches(self, path: Path) -> bool:
        """Say whether this account may walk into the folder (or run the file) `path`; the kernel is asked."""
        return self.run(["/bin/sh", "-c", 'test -x "$1"', "sh", str(path)], cwd="/").returncode == 0


@dataclass(frozen=True, slots=True)
class OwnAccount(Account):
    """The account this process has already."""

    def run(self, argv: list[str], **options: Any) -> "subprocess.CompletedProcess[str]":
        """Run `argv` to its end, away from the terminal; never raises for its status."""
        return run_detached(argv, **options)


def server_account(existing: Path) -> Account:
    """Return who runs the server whose data is in `existing`: its owner, but an account of its own instead of root."""
    if os.geteuid() != 0:
        return OwnAccount(os.geteuid(), os.getegid())
    if existing.exists() and existing.stat().st_uid != 0:
        owner = existing.stat()
        return Account(owner.st_uid, owner.st_gid)
    entry = _unprivileged()
    return Account(entry.pw_uid, entry.pw_gid)


def owner_of(folder: Path) -> Account:
    """Return the account that owns `folder`, so that root leaves nothing there that its owner cannot open."""
    owner = folder.stat()
    if owner.st_uid == os.geteuid():
        return OwnAccount(owner.st_uid, owner.st_gid)
    return Account(owner.st_uid, owner.st_gid)


def open_private(path: Path, flags: int) -> int:
    """Open `path` with `flags`; a file created by it is readable by the owner of its folder alone."""
    descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    if os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def run_detached(
    argv: list[str], *, output: IO[str] | None = None, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run `argv` in a session of its own with no input; its output goes to `output` or nowhere.

    Never to a pipe: a server started by `argv` would keep the pipe open and the caller waiting.
    """
    sink = output or subprocess.DEVNULL
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=sink,
        stderr=sink,
        start_new_session=True,
        check=False,
        text=True,
        **options,
    )


def _unprivileged() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(ACCOUNT_NAME)
    except KeyError:
        argv = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT_NAME]
        subprocess.run(argv, check=False, capture_output=True)
        return pwd.getpwnam(ACCOUNT_NAME)
