"""System checks: settings that would fail at night are refused at boot, each with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from endpoints.conf import allowed_networks


def check_allowed_networks(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """Every entry of `HOLDFAST_ALLOWED_NETWORKS` is a network; in production the list is better empty."""
    try:
        networks = allowed_networks()
    except ValueError as error:
        return [Error(str(error), "Write networks in CIDR notation, separated by commas.", id="endpoints.E001")]
    if networks and not settings.DEBUG:
        return [
            Warning(
                "HOLDFAST_ALLOWED_NETWORKS lets deliveries reach private addresses.",
                "Leave it empty unless every endpoint owner is trusted with your internal network.",
                id="endpoints.W001",
            )
        ]
    return []
