"""The settings this app reads, typed, with their defaults. Refused at boot by `deliveries.checks`."""

from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any

from django.conf import settings

from endpoints.thresholds import Thresholds, order_fault, threshold_fault


@dataclass(frozen=True, slots=True)
class Conf:
    """What `settings.HOLDFAST` may say, name for name in capitals. Times are seconds."""

    operators: tuple[str, ...] = ()
    """E-mail addresses that are told about dead letters."""

    user_agent: str = "Holdfast/1.0"
    """Sent with every request; firewalls turn away library defaults and requests without one."""

    send_traceparent: bool = False
    """Whether requests carry a `traceparent` header, where OpenTelemetry is in use: receivers then see trace ids."""

    wake_size: int = 16
    """Endpoints that one wake-up message may name."""

    task_budget_seconds: float = 20.0
    """How long one delivery task works before it hands over to the next."""

    event_days: float = 30.0
    attempt_days: float = 30.0
    dead_letter_days: float = 90.0
    """How long final events, their attempts and resolved dead letters are kept. Open dead letters stay for good."""

    minute_rollup_days: float = 2.0
    hour_rollup_days: float = 90.0
    """How long figures are kept by the minute, and after that by the hour."""

    health_warn_below: float = 0.95
    health_disable_below: float = 0.5
    health_silent_minutes: float = 15.0
    health_least_samples: int = 20
    health_probe_minutes: float = 0.0
    health_certificate_days: float = 14.0
    """When endpoints are warned about, disabled and tried again; `endpoints.thresholds` explains. Endpoints may have
    their own."""

    operations_tenant: str = ""
    """Its endpoints get operational events, `holdfast.endpoint.disabled` and the like; empty: nobody does."""

    notice_mails_per_hour: int = 10
    """Mails about notices to one recipient in an hour; what is more comes as a list every ten minutes."""

    archive_after_days: float = 30.0
    """How long an endpoint may stay disabled before it is archived."""

    admin_rate_per_second: float = 50.0
    """The pace of a redrive or replay from the admin, when it moves more than a handful; the commands choose theirs."""

    long_drains: int = 12
    """Most drains that go on beside a worker process's own threads; each holds a database connection."""

    http_threads: int = 256
    """Most requests one worker process has in flight."""

    @property
    def thresholds(self) -> Thresholds:
        """Those of endpoints that name none of their own."""
        return Thresholds(
            warn_below=self.health_warn_below,
            disable_below=self.health_disable_below,
            silent_minutes=self.health_silent_minutes,
            least_samples=self.health_least_samples,
            probe_minutes=self.health_probe_minutes,
            certificate_days=self.health_certificate_days,
        )


_NUMBERS = tuple(field.name for field in fields(Conf) if field.type in (int, float))
_MAY_BE_ZERO = {"health_probe_minutes", "health_certificate_days"}
"""Switched off by it; `threshold_fault` knows their range."""
_SWITCHES = tuple(field.name for field in fields(Conf) if field.type is bool)


def conf() -> Conf:
    """The settings in force. Raises ValueError naming an unknown or unusable entry."""
    given = getattr(settings, "HOLDFAST", {})
    return _conf(tuple(sorted((name, tuple(v) if isinstance(v, list) else v) for name, v in given.items())))


@lru_cache(maxsize=8)
def _conf(entries: tuple[tuple[str, Any], ...]) -> Conf:
    known = {field.name for field in fields(Conf)}
    if unknown := [name for name, _ in entries if name.lower() not in known]:
        raise ValueError(f"HOLDFAST has no setting {', '.join(unknown)}; known are {', '.join(sorted(known)).upper()}.")
    made = Conf(**{name.lower(): value for name, value in entries})
    for name in _NUMBERS:
        value = getattr(made, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or value < 0 or (value == 0 and name not in _MAY_BE_ZERO):
            raise ValueError(f"HOLDFAST[{name.upper()!r}] is {value!r}: it must be a number above 0.")
    for name in _SWITCHES:
        if not isinstance(getattr(made, name), bool):
            raise ValueError(f"HOLDFAST[{name.upper()!r}] is {getattr(made, name)!r}: it must be True or False.")
    if fault := threshold_fault(asdict(made.thresholds)) or order_fault(made.thresholds):
        raise ValueError(f"HOLDFAST's health settings: {fault}")
    return made
