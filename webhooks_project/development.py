"""Keys for a development checkout: made once at random, kept in the data folder, never shared or committed."""

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.fernet import Fernet


@dataclass(frozen=True, slots=True)
class DevelopmentKeys:
    """Django's secret key and one Fernet key."""

    django: str
    fernet: str


def development_keys(data_dir: Path) -> DevelopmentKeys:
    """Return this checkout's keys, making them at the first call."""
    data_dir.mkdir(parents=True, exist_ok=True)
    path = data_dir / "development-keys.json"
    if not path.exists():
        _write_once(path, {"django": secrets.token_urlsafe(50), "fernet": Fernet.generate_key().decode()})
    return DevelopmentKeys(**json.loads(path.read_text()))


def _write_once(path: Path, keys: dict[str, str]) -> None:
    # Two processes may start at once: each writes its own file, the first link wins, both read the winner's.
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(keys, file)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
