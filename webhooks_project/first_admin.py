"""A first account for the admin of a development checkout, with a random password that only this machine knows."""

import os
import secrets
from pathlib import Path

from django.contrib.auth import get_user_model

USERNAME = "admin"


def ensure_first_admin(data_dir: Path) -> str:
    """Create the superuser `admin` unless it exists; return the line that tells the person how to log in."""
    path = data_dir / "admin-password"
    users = get_user_model()._default_manager
    if users.filter(username=USERNAME).exists():
        return f"log in as {USERNAME}" + (f", password in {path}" if path.exists() else "")
    password = secrets.token_urlsafe(12)
    _write_private(path, password + "\n")
    users.create_superuser(username=USERNAME, email="", password=password)
    return f"log in as {USERNAME} with password {password} (shown once; kept in {path})"


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
