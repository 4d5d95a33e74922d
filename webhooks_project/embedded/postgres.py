"""The embedded PostgreSQL: attach to it, start it, stop it.

Only the programs of the wheel are used. Its Python handle would, as root, open every parent folder of the checkout to
everyone, and it gives a crash recovery ten seconds.
"""

import contextlib
import shutil
import time
from pathlib import Path
from urllib.parse import quote

from webhooks_project.embedded import processes
from webhooks_project.embedded.cluster import DATABASE, ROLE, create_cluster
from webhooks_project.embedded.errors import ServerNotStarted
from webhooks_project.embedded.places import Places, make_folders, places, programs

START_SECONDS = 120
"""Patience with a start: a crash recovery replays the log since the last checkpoint before it answers."""
STOP_SECONDS = 60
POLL_SECONDS = 0.05
SOCKET_DIR_LINE = 4
"""Line of postmaster.pid, from 0 (PostgreSQL's src/include/utils/pidfile.h: LOCK_FILE_LINE_SOCKET_DIR is 5, from 1)."""


def ensure(data_dir: Path) -> str:
    """Return the URL of the server for `data_dir`, starting it when it is down. The caller holds the start lock."""
    where = places(data_dir)
    bin_dir = programs(where.account)
    make_folders(where)
    if not where.cluster.exists():
        create_cluster(where, bin_dir)
    if not _answers(where, bin_dir):
        _bring_up(where, bin_dir)
    return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(_socket_dir(where)), safe='/')}"


def stop(data_dir: Path) -> None:
    """Stop the server, if it runs, with a checkpoint; sessions still open are ended."""
    where = places(data_dir)
    if not processes.serving("postgres", where.cluster):
        return
    argv = [str(programs(where.account) / "pg_ctl"), "stop", "-D", "data", "-m", "fast", "-w", "-t", str(STOP_SECONDS)]
    where.account.run(argv, cwd=where.home)
    processes.end(processes.serving("postgres", where.cluster))


def remove(data_dir: Path) -> None:
    """Delete the stopped server's data, wherever it lives."""
    where = places(data_dir)
    for folder in (where.home, where.socket_dir):
        shutil.rmtree(folder, ignore_errors=True)


def _bring_up(where: Places, bin_dir: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(where, bin_dir):
        if time.monotonic() > deadline:
            raise ServerNotStarted.with_log("The embedded PostgreSQL does not answer.", where.log)
        if _postmaster_lives(where):
            # Started by a process that died while the server was still recovering.
            time.sleep(POLL_SECONDS)
        else:
            _start(where, bin_dir)


def _start(where: Places, bin_dir: Path) -> None:
    # Sessions that outlive a killed postmaster hold its shared memory, and a new one refuses to start beside them.
    processes.end(processes.serving("postgres", where.cluster))
    _clear_marks(where)
    with contextlib.suppress(FileNotFoundError):
        where.log.replace(where.log.with_suffix(".log.before"))
    argv = [str(bin_dir / "pg_ctl"), "start", "-D", "data", "-l", "server.log", "-o", f"-k {where.socket_dir}"]
    started = where.account.run([*argv, "-w", "-t", str(START_SECONDS)], cwd=where.home)
    if started.returncode != 0:
        raise ServerNotStarted.with_log("The embedded PostgreSQL did not start.", where.log)


def _clear_marks(where: Places) -> None:
    # What a killed postmaster left. PostgreSQL clears these itself, but takes any process that has the recorded id by
    # now, even a zombie nobody reaped, for a living server. We hold the start lock and know better.
    socket = where.socket_dir / ".s.PGSQL.5432"
    for mark in (where.cluster / "postmaster.pid", socket, socket.with_name(f"{socket.name}.lock")):
        mark.unlink(missing_ok=True)


def _postmaster_lives(where: Places) -> bool:
    lines = _pid_file(where)
    return bool(lines) and lines[0].strip() in {
        str(process.pid) for process in processes.serving("postgres", where.cluster)
    }


def _answers(where: Places, bin_dir: Path) -> bool:
    if not _postmaster_lives(where):
        return False
    # pg_isready, as a server with all its connections taken is up, and one in recovery is not.
    argv = [str(bin_dir / "pg_isready"), "-q", "-h", str(_socket_dir(where)), "-U", ROLE, "-d", DATABASE, "-t", "3"]
    return where.account.run(argv, cwd=where.home).returncode == 0


def _socket_dir(where: Places) -> Path:
    lines = _pid_file(where)
    recorded = lines[SOCKET_DIR_LINE].strip() if len(lines) > SOCKET_DIR_LINE else ""
    return Path(recorded) if recorded else where.socket_dir


def _pid_file(where: Places) -> list[str]:
    try:
        return (where.cluster / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return []
