"""The chapter "In your own Django project" of the README, followed to the letter: a fresh project that delivers."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.db import connection
from pytest_django import DjangoDbBlocker

from demo.receiver.client import ReceiverProcess
from tests.acceptance.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
KEY = Fernet.generate_key().decode()
DATABASE = f"own_project_{os.getpid()}"

# What every Django project has to say about its database, and what lets it call a receiver on this machine.
SITE = """
from mysite.its_database import DATABASES
{shown}
HOLDFAST_ALLOWED_NETWORKS = ["127.0.0.0/8"]
"""

PUBLISH = """
from django.db import transaction
from deliveries import publish
from endpoints.models import Endpoint

with transaction.atomic():
    Endpoint.objects.create(url={url!r}, event_types=["order.*"])
    publish("order.placed", {{"order": 1042}})
"""


@pytest.fixture
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """An empty database beside that of the tests."""

    def say(statement: str) -> None:
        with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
            cursor.execute(statement)

    say(f'CREATE DATABASE "{DATABASE}"')
    yield DATABASE
    say(f'DROP DATABASE "{DATABASE}" WITH (FORCE)')


@pytest.fixture
def project(tmp_path: Path, database: str, empty_redis: object) -> Path:
    """A new project with the folders and the files that the README names, and nothing else of ours."""
    _run(tmp_path, "-m", "django", "startproject", "mysite", ".")
    chapter = _chapter()
    for folder in re.findall(r"`(\w+)/`", chapter.partition("on the Python path")[0]):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in re.findall(r"\]\(webhooks_project/(\w+\.py)\)", chapter):
        shutil.copy(ROOT / "webhooks_project" / name, tmp_path / "mysite" / name)
    for block in re.findall(r"^```python\n(.*?)^```$", chapter, re.MULTILINE | re.DOTALL):
        path = tmp_path / block.partition("\n")[0].removeprefix("# ")
        shown = block.replace("redis://127.0.0.1:6379/0", settings.REDIS_URL)
        text = SITE.format(shown=shown) if path.name == "settings.py" else shown
        path.write_text((path.read_text() if path.exists() else "") + text)
    server = {key: connection.settings_dict[key] for key in ("ENGINE", "HOST", "PORT", "USER", "PASSWORD", "OPTIONS")}
    databases = {"default": {**server, "NAME": database}}
    (tmp_path / "mysite" / "its_database.py").write_text(f"DATABASES = {databases!r}\n")
    return tmp_path


def test_a_fresh_project_with_what_the_readme_shows_delivers(project):
    _run(project, "manage.py", "check", "--fail-level", "WARNING")
    _run(project, "manage.py", "migrate", "--verbosity", "0")
    worker = _start_worker(project)
    try:
        with ReceiverProcess() as receiver:
            _run(project, "manage.py", "shell", "-c", PUBLISH.format(url=receiver.url("/ok/own")))
            (request,) = eventually(lambda: receiver.requests("/ok/own"), within=30)
    finally:
        worker.terminate()
        worker.wait(30)

    assert '"order":1042' in request["body"]
    assert (project / "worker.log").read_text().count("Traceback") == 0


def _chapter() -> str:
    return (ROOT / "README.md").read_text().partition("\n## In your own Django project\n")[2].partition("\n## ")[0]


def _environment() -> dict[str, str]:
    ours = ("DJANGO_", "HOLDFAST_", "DATABASE_URL", "REDIS_URL", "BROKER_URL", "CELERY_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOLDFAST_SECRET_KEYS": KEY}


def _run(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _start_worker(folder: Path) -> subprocess.Popen[bytes]:
    """The worker of the README's table of processes, for all queues."""
    queues = "deliveries,deliveries.slow,dead_letters,inbox,upkeep"
    with (folder / "worker.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "celery", "-A", "mysite", "worker", "--pool", "threads", "-Q", queues],
            cwd=folder,
            env=_environment(),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
