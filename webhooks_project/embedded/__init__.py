"""Embedded services: a real PostgreSQL 18 and Valkey 9 from Python wheels, shared by every process of a checkout.

Used when `DATABASE_URL` or `REDIS_URL` is not set. The first process starts the server it needs, later ones attach,
the last one that exits normally stops both; a crash on either side is made good by the next process that comes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webhooks_project.embedded import postgres, tenancy, valkey

__all__ = ["ServiceURLs", "ensure_postgres", "ensure_running", "ensure_valkey", "remove", "revive", "stop_if_unused"]

_needed: dict[tuple[str, Path], Callable[[Path], str]] = {}
"""What this process asked for: (server, data folder) -> how to get it again."""


@dataclass(frozen=True, slots=True)
class ServiceURLs:
    """Where the two embedded servers answer, in the form `DATABASE_URL` and `REDIS_URL` have."""

    database_url: str
    redis_url: str


def ensure_running(data_dir: Path) -> ServiceURLs:
    """Return the URLs of both servers, starting what is down. Raises `ServerNotStarted`."""
    return ServiceURLs(database_url=ensure_postgres(data_dir), redis_url=ensure_valkey(data_dir))


def ensure_postgres(data_dir: Path) -> str:
    """Return the URL of the embedded PostgreSQL, starting it when it is down. Raises `ServerNotStarted`."""
    with tenancy.moving_in(data_dir, at_last_exit=_stop_both):
        _needed["postgres", data_dir] = ensure_postgres
        return postgres.ensure(data_dir)


def ensure_valkey(data_dir: Path) -> str:
    """Return the URL of the embedded Valkey, starting it when it is down. Raises `ServerNotStarted`."""
    with tenancy.moving_in(data_dir, at_last_exit=_stop_both):
        _needed["valkey", data_dir] = ensure_valkey
        return valkey.ensure(data_dir)


def revive() -> None:
    """Start again whichever server this process asked for and that has died since, under the same URL."""
    for (_, data_dir), ensure in list(_needed.items()):
        ensure(data_dir)


def stop_if_unused(data_dir: Path) -> bool:
    """Stop both servers unless some process still uses them; true when they are down now."""
    return tenancy.evict(data_dir, _stop_both)


def remove(data_dir: Path) -> bool:
    """Stop both servers and delete all their data, unless some process still uses them; true when it is gone now."""
    return tenancy.evict(data_dir, _stop_both, postgres.remove, valkey.remove)


def _stop_both(data_dir: Path) -> None:
    postgres.stop(data_dir)
    valkey.stop(data_dir)
