"""System checks: settings that would fail at night are refused at boot, each with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from endpoints.conf import allowed_networks, secret_keys


def check_secret_keys(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """`HOLDFAST_SECRET_KEYS` holds at least one key, and every one is a Fernet key."""
    hint = "Make one: python -c 'from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())'"
    keys = secret_keys()
    if not keys:
        return [Error("HOLDFAST_SECRET_KEYS is empty: signing secrets cannot be stored.", hint, id="endpoints.E001")]
    return [
        Error(f"HOLDFAST_SECRET_KEYS: entry {number} is not a Fernet key.", hint, id="endpoints.E002")
        for number, key in enumerate(keys, start=1)
        if not _is_fernet_key(key)
    ]


def check_allowed_networks(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """Every entry of `HOLDFAST_ALLOWED_NETWORKS` is a network; in production the list is better empty."""
    try:
        networks = allowed_networks()
    except ValueError as error:
        return [Error(str(error), "Write networks in CIDR notation, separated by commas.", id="endpoints.E003")]
    if networks and not settings.DEBUG:
        return [
            Warning(
                "HOLDFAST_ALLOWED_NETWORKS lets deliveries reach private addresses.",
                "Leave it empty unless every endpoint owner is trusted with your internal network.",
                id="endpoints.W001",
            )
        ]
    return []


def _is_fernet_key(key: str) -> bool:
    try:
        Fernet(key)
    except ValueError:
        return False
    return True
