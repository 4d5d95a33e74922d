"""The project's settings over services of the tests' own: two test runs, or a stack beside them, never meet."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from webhooks_project import boot
from webhooks_project.embedded import ensure_valkey


def _own_redis() -> str:
    """An empty Valkey for this run; of a server that the environment names, its last database."""
    if given := os.environ.get("REDIS_URL"):
        return given.rpartition("/")[0] + "/15"
    folder = Path(tempfile.mkdtemp(prefix="holdfast-tests-"))
    # Registered first, so that it runs last: after the server has stopped.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return ensure_valkey(folder)


os.environ["REDIS_URL"] = os.environ["BROKER_URL"] = _own_redis()
boot.prepare()

from webhooks_project.settings import *  # noqa: E402, F403
from webhooks_project.settings import DATABASES, INSTALLED_APPS  # noqa: E402

DATABASES["default"]["TEST"] = {"NAME": f"test_holdfast_{os.getpid()}"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.bookshop"]
