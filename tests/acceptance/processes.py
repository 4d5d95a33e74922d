"""The stack as it runs in production, for tests: each process of its own, with its log."""

import os
import signal
import subprocess
from email import message_from_string
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Final

import psutil
import requests
from django.conf import settings
from django.db import connection

from tests.acceptance.waiting import eventually
from webhooks_project import roles
from webhooks_project.ports import unused_port

START_SECONDS = 120.0
STOP_SECONDS = 20.0
LOG_TAIL_LINES = 40

MAIL_ENDS = "\n" + "-" * 79 + "\n"
"""What Django's file backend writes after each mail: mails of one second may share a file."""

PIPELINE: Final = ("healthy", "slow", "beat")
RECEIVING: Final = ("inbox", "web")
"""Started only where a test receives something."""


def worker_environment(mail_dir: Path) -> dict[str, str]:
    """Production-shaped settings over the databases of this test run.

    Only 127.0.0.1 may be dialled, so that 127.0.0.2 stands for an address that is refused.
    """
    database = os.environ["DATABASE_URL"].replace("/holdfast?", f"/{connection.settings_dict['NAME']}?", 1)
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.production_settings",
        "DATABASE_URL": database,
        "REDIS_URL": settings.REDIS_URL,
        "BROKER_URL": settings.BROKER_URL,
        "HOLDFAST_EMBEDDED": "0",
        "DJANGO_DEBUG": "0",
        "DJANGO_SECRET_KEY": settings.SECRET_KEY,
        "DJANGO_ALLOWED_HOSTS": "127.0.0.1",
        "HOLDFAST_SECRET_KEYS": ",".join(settings.HOLDFAST_SECRET_KEYS),
        "HOLDFAST_ALLOWED_NETWORKS": "127.0.0.1/32",
        "HOLDFAST_OPERATORS": "operator@example.com",
        "DJANGO_EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend",
        "DJANGO_EMAIL_FILE_PATH": str(mail_dir),
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
        "PYTHONUNBUFFERED": "1",
        # Who is up says so at INFO.
        "LOG_LEVEL": "INFO",
    }


class Stack:
    """The processes by name. Logs and mails go to `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mail_dir = folder / "mail"
        self.port = unused_port()
        self._commands = {
            "healthy": roles.worker("healthy", roles.HEALTHY_QUEUES),
            "slow": roles.worker("slow", roles.SLOW_QUEUES),
            "inbox": roles.worker("inbox", roles.INBOX_QUEUES),
            "beat": roles.beat(),
            "web": roles.web_server(f"127.0.0.1:{self.port}", processes=1),
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Start what is not running (the pipeline, unless named) and wait until each takes messages or requests."""
        missing = [name for name in names or PIPELINE if name not in self._running]
        already_read = {name: len(self.log(name)) for name in missing}
        for name in missing:
            with self._path(name).open("ab") as log:
                self._running[name] = subprocess.Popen(
                    self._commands[name],
                    cwd=settings.BASE_DIR,
                    env=worker_environment(self.mail_dir),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
        for name in missing:
            eventually(partial(self._is_up, name, already_read[name]), within=START_SECONDS)

    def signal(self, name: str, number: signal.Signals) -> None:
        """Signal a process, without waiting for what it does about it."""
        self._running[name].send_signal(number)

    def kill(self, name: str) -> None:
        """SIGKILL a process and those it started, and wait until it is gone."""
        process = psutil.Process(self._running[name].pid)
        for each in [process, *process.children(recursive=True)]:
            each.kill()
        self.wait_for_end(name, STOP_SECONDS)

    def wait_for_end(self, name: str, seconds: float) -> None:
        """Wait until a process that was told to stop has ended. Raises TimeoutExpired when it takes longer."""
        self._running[name].wait(seconds)
        del self._running[name]

    def stop(self) -> None:
        """End everything, by force where asking does not help."""
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._running.clear()

    def log(self, name: str) -> str:
        """Everything the process of this name has said so far."""
        path = self._path(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def mails(self) -> list[Message]:
        """Every mail that was sent so far."""
        texts = [text for file in self.mail_dir.glob("*") for text in file.read_text().split(MAIL_ENDS)]
        return [message_from_string(text) for text in texts if text.strip()]

    def tails(self) -> dict[str, str]:
        """The end of each log, for the report of a failed test."""
        return {
            name: "\n".join(self.log(name).splitlines()[-LOG_TAIL_LINES:]) for name in self._commands if self.log(name)
        }

    def _is_up(self, name: str, already_read: int) -> bool:
        if name == "web":
            return self._answers()
        sign = "Schedule changed." if name == "beat" else "ready."
        return sign in self.log(name)[already_read:]

    def _answers(self) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/inbox/any/", timeout=5).status_code == 405
        except requests.RequestException:
            return False

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.log"
