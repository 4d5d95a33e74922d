"""A new PostgreSQL cluster, complete or not there at all.

Everything happens in a draft folder that gets its name last: an `initdb` cut short by Ctrl-C or a crash leaves nothing
that a later start could take for a database.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import IO

from webhooks_project.embedded.errors import ServerNotStarted
from webhooks_project.embedded.places import Places

DATABASE = "holdfast"
ROLE = "holdfast"

SETTINGS = """
# Holdfast: reachable through the unix socket alone.
listen_addresses = ''
port = 5432
# Connections = processes x threads: web, three workers, beat, tests and a shell or two.
max_connections = 200
shared_buffers = 256MB
# The statements of the delivery path are short: compiling them costs more than it saves.
jit = off
"""


def create_cluster(where: Places, bin_dir: Path) -> None:
    """Make the cluster with its role and database. Raises `ServerNotStarted` with what the programs said."""
    draft = where.home / "data.new"
    shutil.rmtree(draft, ignore_errors=True)
    with tempfile.TemporaryFile("w+") as said:
        _step(where, _initdb(bin_dir), said)
        with (draft / "postgresql.conf").open("a") as conf:
            conf.write(SETTINGS)
        create_database = f"echo 'CREATE DATABASE {DATABASE}' | \"$0\" --single -D data.new postgres"
        _step(where, ["/bin/sh", "-c", create_database, str(bin_dir / "postgres")], said)
    draft.rename(where.cluster)


def _initdb(bin_dir: Path) -> list[str]:
    # The C.UTF-8 locale that PostgreSQL itself provides: the same order of text on every machine.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    # Trust is for whoever can open the socket, whose folder is private; a network connection is refused outright.
    access = ["--auth-local=trust", "--auth-host=reject", f"--username={ROLE}"]
    return [str(bin_dir / "initdb"), "--pgdata=data.new", *locale, *access]


def _step(where: Places, argv: list[str], said: IO[str]) -> None:
    result = where.account.run(argv, cwd=where.home, output=said)
    try:
        result.check_returncode()
    except subprocess.CalledProcessError as error:
        said.seek(0)
        raise ServerNotStarted(f"The embedded database could not be created: {said.read().strip()}") from error
