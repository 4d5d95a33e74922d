"""Embedded servers as processes meet them: shared, stopped by the last, and made good after any kind of death."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis

from webhooks_project import embedded
from webhooks_project.embedded import processes
from webhooks_project.embedded.places import SOCKET_PATH_LIMIT, places

ROOT = Path(__file__).resolve().parents[2]
USE = """
import sys
from pathlib import Path
from webhooks_project.embedded import ensure_running
urls = ensure_running(Path(sys.argv[1]))
print(urls.database_url, urls.redis_url, flush=True)
"""
STAY = USE + "sys.stdin.readline()\n"
PATIENCE_SECONDS = 60


class User:
    """A process that uses the servers of a data folder until told to leave."""

    def __init__(self, data_dir: Path, script: str = STAY) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, str(data_dir)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def settle(self) -> embedded.ServiceURLs:
        """Wait until it has both servers."""
        assert self.process.stdout is not None
        database_url, redis_url = self.process.stdout.readline().split()
        return embedded.ServiceURLs(database_url, redis_url)

    def leave(self) -> None:
        """Let it end in the ordinary way."""
        self.process.communicate("\n", timeout=PATIENCE_SECONDS)
        assert self.process.returncode == 0

    def die(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it, and whoever else is in its process group, by a signal."""
        os.killpg(self.process.pid, number)
        self.process.communicate(timeout=PATIENCE_SECONDS)

    def end_at_last(self) -> None:
        """Leave nothing of it behind, however the test went."""
        if self.process.poll() is None:
            self.die()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@contextmanager
def fresh_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-"))
    folder.chmod(0o711)
    yield folder
    assert embedded.remove(folder), "a user of the test is still there"
    shutil.rmtree(folder)


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@dataclass
class Running:
    """Servers for the tests that only look."""

    data_dir: Path
    urls: embedded.ServiceURLs


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with fresh_folder() as folder:
        user = User(folder)
        yield Running(folder, user.settle())
        user.leave()


@pytest.fixture
def use(data_dir: Path) -> Iterator[Callable[..., User]]:
    users: list[User] = []

    def start(script: str = STAY) -> User:
        users.append(User(data_dir, script))
        return users[-1]

    yield start
    for user in users:
        user.end_at_last()


def postmaster(data_dir: Path) -> int | None:
    """Return the process id of the running postmaster."""
    cluster = places(data_dir).cluster
    alive = {process.pid for process in processes.serving("postgres", cluster)}
    recorded = cluster / "postmaster.pid"
    pid = int(recorded.read_text().split()[0]) if recorded.exists() else None
    return pid if pid in alive else None


def broker(data_dir: Path) -> int | None:
    """Return the process id of the running Valkey."""
    alive = processes.serving("valkey-server", data_dir / "valkey")
    assert len(alive) <= 1
    return alive[0].pid if alive else None


def kill(pid: int | None) -> None:
    assert pid is not None
    victim = psutil.Process(pid)
    victim.kill()
    assert not processes.await_end([victim], PATIENCE_SECONDS)


def query(database_url: str, statement: str) -> object:
    connection = psycopg2.connect(database_url)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone()[0] if cursor.description else None
    finally:
        connection.close()


def ping(redis_url: str) -> bool:
    with redis.Redis.from_url(redis_url) as client:
        return bool(client.ping())


def test_two_processes_share_the_servers_and_the_last_one_stops_them(data_dir, use):
    first, second = use(), use()
    assert first.settle() == second.settle()
    running = postmaster(data_dir), broker(data_dir)
    assert None not in running
    first.leave()
    assert (postmaster(data_dir), broker(data_dir)) == running
    second.leave()
    assert (postmaster(data_dir), broker(data_dir)) == (None, None)


def test_processes_that_start_at_once_start_one_server_each(data_dir, use):
    users = [use() for _ in range(6)]
    assert len({user.settle() for user in users}) == 1
    for user in users:
        user.leave()
    assert (postmaster(data_dir), broker(data_dir)) == (None, None)


def test_the_servers_are_the_real_ones_tuned_and_durable(running):
    urls = running.urls
    assert str(query(urls.database_url, "SHOW server_version")).startswith("18.")
    assert query(urls.database_url, "SELECT current_database()") == "holdfast"
    assert query(urls.database_url, "SHOW fsync") == "on"
    assert query(urls.database_url, "SHOW jit") == "off"
    assert query(urls.database_url, "SHOW max_connections") == "200"
    assert query(urls.database_url, "SHOW listen_addresses") == ""
    with redis.Redis.from_url(urls.redis_url, decode_responses=True) as client:
        assert client.info("server")["valkey_version"].startswith("9.")
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_a_stranger_on_the_machine_cannot_use_the_broker(running):
    port = int(running.urls.redis_url.rsplit(":", 1)[1].split("/")[0])
    with redis.Redis("127.0.0.1", port) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_a_killed_starter_leaves_the_servers_to_the_next_process(data_dir, use):
    starter = use()
    urls = starter.settle()
    running = postmaster(data_dir), broker(data_dir)
    starter.die()
    heir = use()
    assert heir.settle() == urls
    assert (postmaster(data_dir), broker(data_dir)) == running
    heir.leave()
    assert (postmaster(data_dir), broker(data_dir)) == (None, None)


def test_a_killed_database_recovers_at_the_next_start_with_everything_committed(data_dir, use):
    starter = use()
    urls = starter.settle()
    query(urls.database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
    kill(postmaster(data_dir))
    starter.die()
    next_urls = use().settle()
    assert query(next_urls.database_url, "SELECT answer FROM kept") == 42


def test_a_killed_broker_comes_back_under_the_same_url(data_dir, use):
    starter = use()
    urls = starter.settle()
    kill(broker(data_dir))
    second = use()
    assert second.settle() == urls
    assert ping(urls.redis_url)


def test_a_process_can_revive_what_died_under_it(data_dir, use):
    revive_on_request = STAY + "from webhooks_project.embedded import revive; revive(); print('revived', flush=True)\n"
    user = use(revive_on_request + "sys.stdin.readline()\n")
    urls = user.settle()
    kill(postmaster(data_dir))
    kill(broker(data_dir))
    user.process.stdin.write("\n")
    user.process.stdin.flush()
    assert user.process.stdout.readline() == "revived\n"
    assert query(urls.database_url, "SELECT 1") == 1
    assert ping(urls.redis_url)


def test_a_pid_file_that_names_a_stranger_does_not_stop_the_start(data_dir, use):
    use().leave()
    pid_file = places(data_dir).cluster / "postmaster.pid"
    lines = [str(os.getpid()), str(places(data_dir).cluster), "1", "5432", str(data_dir), "", "1 1", "ready   "]
    pid_file.write_text("\n".join(lines))
    assert query(use().settle().database_url, "SELECT 1") == 1


def test_a_recorded_port_that_somebody_else_took_is_left_to_them(data_dir, use):
    first = use()
    urls = first.settle()
    first.leave()
    port = int(urls.redis_url.rsplit(":", 1)[1].split("/")[0])
    with socket.create_server(("127.0.0.1", port)):
        next_urls = use().settle()
        assert next_urls.redis_url != urls.redis_url
        assert ping(next_urls.redis_url)


def test_a_creation_cut_short_is_started_over(data_dir, use):
    draft = data_dir / "postgres" / "data.new"
    draft.mkdir(parents=True)
    (draft / "PG_VERSION").write_text("18\n")
    assert query(use().settle().database_url, "SELECT 1") == 1


def test_a_forked_child_that_ends_does_not_stop_its_parents_servers(data_dir, use):
    fork = USE + "import os\nif os.fork() == 0:\n    sys.exit(0)\nos.wait()\nprint('child gone', flush=True)\n"
    user = use(fork + "sys.stdin.readline()\n")
    urls = user.settle()
    assert user.process.stdout.readline() == "child gone\n"
    assert query(urls.database_url, "SELECT 1") == 1
    assert ping(urls.redis_url)


def test_a_forked_child_that_lives_on_does_not_keep_the_servers(data_dir, use):
    fork = (
        USE
        + "import os\nif os.fork() == 0:\n    sys.stdout.close()\n    os.read(int(sys.argv[2]), 1)\n    os._exit(0)\n"
    )
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", fork, str(data_dir), str(reader)],
            cwd=ROOT,
            pass_fds=[reader],
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert done.returncode == 0
        assert (postmaster(data_dir), broker(data_dir)) == (None, None)
    finally:
        os.close(writer)
        os.close(reader)


def test_ctrl_c_in_the_starters_terminal_does_not_reach_the_servers(data_dir, use):
    starter, other = use(), use()
    urls = starter.settle()
    other.settle()
    starter.die(signal.SIGINT)
    assert query(urls.database_url, "SELECT 1") == 1
    assert ping(urls.redis_url)


def test_a_checkout_with_a_long_path_has_its_socket_elsewhere(data_dir):
    deep = data_dir / ("long and odd, " + "x" * SOCKET_PATH_LIMIT)
    user = User(deep)
    try:
        assert query(user.settle().database_url, "SELECT 1") == 1
        user.leave()
    finally:
        assert embedded.remove(deep)


def test_folders_above_the_data_keep_their_permissions(data_dir):
    private = data_dir / "private"
    private.mkdir(mode=0o700)
    user = User(private / "data")
    try:
        assert query(user.settle().database_url, "SELECT 1") == 1
        assert private.stat().st_mode & 0o777 == 0o700
        user.leave()
    finally:
        assert embedded.remove(private / "data")


def test_nothing_is_removed_while_a_process_uses_it(running):
    assert not embedded.remove(running.data_dir)
    assert query(running.urls.database_url, "SELECT 1") == 1


def test_the_broker_keeps_its_password_to_its_owner(running):
    for name in ("server.json", "valkey.conf"):
        assert (running.data_dir / "valkey" / name).stat().st_mode & 0o777 == 0o600
