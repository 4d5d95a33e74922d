"""System checks: a setting that would fail at night is refused at boot, with an id and a hint."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from deliveries.conf import conf


def check_conf(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """`settings.HOLDFAST` holds known names with usable values."""
    try:
        conf()
    except (TypeError, ValueError) as error:
        return [Error(str(error), "deliveries/conf.py explains each setting.", id="deliveries.E001")]
    return []


def check_operators(app_configs: Any, **_kwargs: Any) -> Sequence[CheckMessage]:
    """In production somebody is told about dead letters."""
    try:
        told = conf().operators
    except (TypeError, ValueError):
        return []  # check_conf says what is wrong
    if settings.DEBUG or told:
        return []
    return [
        Warning(
            "Nobody is told about dead letters.",
            "Set HOLDFAST_OPERATORS to e-mail addresses, separated by commas.",
            id="deliveries.W001",
        )
    ]
