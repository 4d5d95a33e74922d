"""The servers of a chaos run: its own PostgreSQL and Valkey in a folder of its own, so that it harms nobody else's."""

import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import django
import psutil
from cryptography.fernet import Fernet

from webhooks_project import embedded
from webhooks_project.embedded import postgres, processes
from webhooks_project.embedded.places import places, programs

ROOT: Final = Path(__file__).resolve().parents[2]
STOP_SECONDS: Final = "30"

Mode = Literal["fast", "immediate"]
"""How PostgreSQL stops: `fast` ends the sessions and writes a checkpoint, `immediate` is a crash."""


class Ground:
    """Both servers, with their data below `folder`. Every process is found by its working folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._data = folder / "data"

    def start(self) -> embedded.ServiceURLs:
        """Start whatever is down, at the address it had."""
        return embedded.ensure_running(self._data)

    def kill_valkey(self) -> None:
        """SIGKILL: what it held is gone."""
        for process in self._valkeys():
            process.kill()
        processes.await_end(self._valkeys(), processes.GRACE_SECONDS)

    def start_valkey(self) -> None:
        """Start it empty, on the same port."""
        embedded.ensure_valkey(self._data)

    def stop_postgres(self, mode: Mode) -> None:
        """Stop it while sessions are open."""
        where = places(self._data)
        argv = [str(programs(where.account) / "pg_ctl"), "stop", "-D", "data", "-m", mode, "-w", "-t", STOP_SECONDS]
        where.account.run(argv, cwd=where.home)

    def start_postgres(self) -> None:
        """Start it; after an immediate stop it recovers first."""
        embedded.ensure_postgres(self._data)

    def remove(self) -> None:
        """Stop both and delete their data."""
        postgres.stop(self._data)
        self.kill_valkey()
        embedded.remove(self._data)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _valkeys(self) -> list[psutil.Process]:
        return processes.serving("valkey-server", self._data / "valkey")


@contextmanager
def prepared() -> Iterator[Ground]:
    """Start servers, point this process and its children at them with settings as in production, set Django up.

    The database has no tables yet.
    """
    folder = Path(tempfile.mkdtemp(prefix="holdfast-chaos-"))
    # The database runs under an account of its own, which must be able to walk through.
    folder.chmod(0o711)
    ground = Ground(folder)
    try:
        urls = ground.start()
        os.environ.update(_environment(urls, folder))
        django.setup()
        logging.getLogger().setLevel(logging.ERROR)
        yield ground
    finally:
        ground.remove()


def _environment(urls: embedded.ServiceURLs, folder: Path) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "webhooks_project.settings",
        "DATABASE_URL": urls.database_url,
        "REDIS_URL": urls.redis_url,
        "BROKER_URL": urls.redis_url,
        "HOLDFAST_DATA_DIR": str(folder / "data"),
        "HOLDFAST_EMBEDDED": "0",
        "HOLDFAST_ALLOWED_NETWORKS": "127.0.0.0/8",
        "HOLDFAST_OPERATORS": "",
        "HOLDFAST_SECRET_KEYS": Fernet.generate_key().decode(),
        "DJANGO_DEBUG": "0",
        "DJANGO_SECRET_KEY": secrets.token_urlsafe(50),
        "DJANGO_ALLOWED_HOSTS": "127.0.0.1",
        "DJANGO_EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend",
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
    }
