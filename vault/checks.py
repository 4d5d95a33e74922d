"""System checks: keys that would fail at night are refused at boot, with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.core.checks import CheckMessage, Error

from vault.conf import secret_keys


def check_secret_keys(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """`HOLDFAST_SECRET_KEYS` holds at least one key, and every one is a Fernet key."""
    hint = "Make one: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"
    keys = secret_keys()
    if not keys:
        return [Error("HOLDFAST_SECRET_KEYS is empty: secrets cannot be stored.", hint, id="vault.E001")]
    return [
        Error(f"HOLDFAST_SECRET_KEYS: entry {number} is not a Fernet key.", hint, id="vault.E002")
        for number, key in enumerate(keys, start=1)
        if not _is_fernet_key(key)
    ]


def _is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True
