"""What every process does before Django reads its settings: make sure a database and a broker are there."""

import os
from pathlib import Path

from webhooks_project.embedded import ensure_postgres, ensure_valkey

BASE_DIR = Path(__file__).resolve().parent.parent


def data_dir() -> Path:
    """Where the embedded services keep their data; `HOLDFAST_DATA_DIR` moves it."""
    return Path(os.environ.get("HOLDFAST_DATA_DIR") or BASE_DIR / ".holdfast").resolve()


def prepare() -> None:
    """Start (or attach to) the embedded PostgreSQL and Valkey for whichever URL the environment does not give.

    The URLs found are put into the environment, so that settings and child processes see one truth.
    """
    if not os.environ.get("DATABASE_URL"):
        os.environ["DATABASE_URL"] = ensure_postgres(data_dir())
        os.environ.setdefault("HOLDFAST_EMBEDDED", "1")
    if not os.environ.get("REDIS_URL"):
        os.environ["REDIS_URL"] = ensure_valkey(data_dir())
