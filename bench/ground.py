"""The ground a bench stands on: a database and a Redis database of its own, and settings as in production."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import django
import psycopg2
import redis
from cryptography.fernet import Fernet
from django.core.management import call_command
from django.db import connections

from bench.errors import BenchFailed
from webhooks_project import boot

DATABASE = "holdfast_bench"
REDIS_DATABASE = 15
"""The last of the sixteen that Redis and Valkey have by default."""

_MARK = "holdfast:bench"
_LOCK = 0x686F6C64
"""One bench at a time on one PostgreSQL server: key of the advisory lock, any number would do."""


class GroundTaken(BenchFailed):
    """The database server or the Redis database is used by something else; the message says by what."""


@contextmanager
def prepared() -> Iterator[None]:
    """Make both databases, point this process and its children at them, set Django up, and drop all at the end.

    Raises GroundTaken. The servers are those of `DATABASE_URL` and `REDIS_URL`, by default the embedded ones.
    """
    boot.prepare()
    server_url, broker_url = os.environ["DATABASE_URL"], with_path(os.environ["REDIS_URL"], str(REDIS_DATABASE))
    server = psycopg2.connect(server_url)
    server.autocommit = True
    broker = redis.Redis.from_url(broker_url)
    try:
        with server.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK])
            if not cursor.fetchone()[0]:
                raise GroundTaken("Another bench runs on this PostgreSQL server.")
            _empty(broker)
            _drop_database(cursor)
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            try:
                _set_up(with_path(server_url, DATABASE), broker_url)
                yield
            finally:
                connections.close_all()
                broker.flushdb()
                _drop_database(cursor)
    finally:
        server.close()
        broker.close()


def clear_broker() -> None:
    """Throw away every message, bell and timer."""
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as broker:
        _empty(broker)


def _set_up(database_url: str, broker_url: str) -> None:
    # Not DEBUG: with it Django keeps every query, which would be charged to whoever uses the ORM most.
    os.environ.update(
        DATABASE_URL=database_url,
        REDIS_URL=broker_url,
        BROKER_URL=broker_url,
        DJANGO_SETTINGS_MODULE="webhooks_project.settings",
        DJANGO_DEBUG="0",
        DJANGO_SECRET_KEY=secrets.token_urlsafe(50),
        DJANGO_ALLOWED_HOSTS="127.0.0.1",
        HOLDFAST_SECRET_KEYS=Fernet.generate_key().decode(),
        HOLDFAST_ALLOWED_NETWORKS="127.0.0.0/8",
        LOG_LEVEL="WARNING",
    )
    django.setup()
    call_command("migrate", verbosity=0)


def _empty(broker: redis.Redis) -> None:
    if broker.dbsize() and not broker.exists(_MARK):
        raise GroundTaken(f"Redis database {REDIS_DATABASE} holds keys of something else; the bench would delete them.")
    broker.flushdb()
    broker.set(_MARK, "Emptied at will by `python -m bench`.")


def _drop_database(cursor: psycopg2.extensions.cursor) -> None:
    cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def with_path(url: str, path: str) -> str:
    """The URL of another database of the same server."""
    # Not geturl(): a URL without a host (the embedded server's) would lose its two slashes.
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc}/{path}{query}"
