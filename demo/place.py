"""A database and a Redis database of the demo's own, so that it never touches anybody's rows or wake-ups.

Both live on the servers that are in use anyway, embedded or not, and are made anew for each run.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlsplit, urlunsplit

import redis
from celery import current_app
from django.conf import settings
from django.db import Error, OperationalError, connection

from deliveries.redis_client import redis_client

DATABASE: Final = "holdfast_demo"
REDIS_DATABASE: Final = 14
"""One of the last of the sixteen that a server has unless told otherwise; applications start at 0."""

MARK: Final = "holdfast:demo"
"""This key says that the Redis database is the demo's, to be emptied without asking."""

PATIENCE_SECONDS: Final = 10.0
"""PostgreSQL notices within moments that the processes of a killed run are gone."""


class PlaceRefused(RuntimeError):
    """The demo would have to touch what is not its own; the message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run works, in the form `DATABASE_URL` and `REDIS_URL` have."""

    database_url: str
    redis_url: str

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of the run's processes: here, to this machine only, and without mail to anybody."""
        return {
            **base,
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "BROKER_URL": self.redis_url,
            "HOLDFAST_ALLOWED_NETWORKS": "127.0.0.0/8",
            "HOLDFAST_OPERATORS": "",
            "DJANGO_EMAIL_BACKEND": "django.core.mail.backends.dummy.EmailBackend",
        }


def place(database_url: str, redis_url: str) -> Place:
    """The demo's place on these servers. Raises PlaceRefused when one of the URLs is that place already."""
    database, broker = urlsplit(database_url), urlsplit(redis_url)
    if database.path.strip("/") == DATABASE:
        raise PlaceRefused(f"DATABASE_URL names {DATABASE}, which each demo deletes; name another database.")
    if broker.scheme not in {"redis", "rediss"} or "db" in parse_qs(broker.query):
        raise PlaceRefused(
            "The demo needs a REDIS_URL such as redis://host:6379/0; unset it to use an embedded server."
        )
    if broker.path.strip("/") == str(REDIS_DATABASE):
        raise PlaceRefused(f"REDIS_URL names database {REDIS_DATABASE}, which each demo empties; name another one.")
    return Place(
        urlunsplit(database._replace(path=f"/{DATABASE}")), urlunsplit(broker._replace(path=f"/{REDIS_DATABASE}"))
    )


def move_in(where: Place) -> None:
    """Make the place empty, and let this process work there from now on. Raises PlaceRefused."""
    _empty_redis(where)
    try:
        _new_database()
    except Error as error:
        raise PlaceRefused(f"The demo cannot make a database of its own, {DATABASE}: {error}") from error
    # What Django's test runner does: one settings dict stands behind every connection of the process.
    connection.close()
    connection.settings_dict["NAME"] = DATABASE
    settings.REDIS_URL = settings.BROKER_URL = where.redis_url
    settings.HOLDFAST_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    current_app.conf.update(broker_url=where.redis_url)
    redis_client.cache_clear()


def move_out() -> None:
    """Leave no messages behind; the rows stay until the next run, for whoever wants to look at them."""
    connection.close()
    redis_client().flushdb()


def _empty_redis(where: Place) -> None:
    client = redis.Redis.from_url(where.redis_url, socket_timeout=5)
    try:
        if client.dbsize() and not client.exists(MARK):
            raise PlaceRefused(
                f"Database {REDIS_DATABASE} of REDIS_URL holds somebody's keys, and the demo deletes nobody's. "
                "Empty it, or unset REDIS_URL to use an embedded server."
            )
        client.flushdb()
        client.set(MARK, 1)
    except redis.RedisError as error:
        raise PlaceRefused(f"The demo cannot use database {REDIS_DATABASE} of REDIS_URL: {error}") from error
    finally:
        client.close()


def _new_database() -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with connection.cursor() as cursor:
                # Without FORCE: somebody who is connected is no leftover of ours.
                cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
                cursor.execute(f"CREATE DATABASE {DATABASE}")
            return
        except OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
