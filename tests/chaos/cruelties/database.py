"""The database, restarted, cut off, full and read-only."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg2
from django.conf import settings
from django.db import connection

from tests.chaos.ground import Mode
from tests.chaos.recovery import expect_status
from tests.chaos.stage import Stage

REFUSAL_SECONDS: Final = (4.0, 12.0)
"""How long results cannot be recorded: well within the leases, so no request may be made twice for it."""

LONG_SECONDS: Final = 50.0

_FILL_THE_DISK: Final = """
CREATE OR REPLACE FUNCTION chaos_disk_full() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
CREATE TRIGGER chaos_disk_full BEFORE INSERT ON deliveries_attempt
FOR EACH STATEMENT EXECUTE FUNCTION chaos_disk_full();
"""
_FREE_THE_DISK: Final = "DROP TRIGGER chaos_disk_full ON deliveries_attempt"

_END_SESSIONS: Final = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def restart_fast(stage: Stage) -> None:
    """Stop it in good order while everybody works, and start it again."""
    _restart(stage, "fast")


def restart_immediate(stage: Stage) -> None:
    """A crash: sessions end in the middle of whatever they do; it recovers from its log."""
    stage.count_kills(1)
    _restart(stage, "immediate")


def end_sessions(stage: Stage) -> None:
    """The server ends every session, three times in a row."""
    stage.burst(200)
    ended = 0
    for _ in range(3):
        time.sleep(stage.rng.uniform(0.1, 0.8))
        with _session() as cursor:
            cursor.execute(_END_SESSIONS)
            ended += cursor.fetchone()[0]
    connection.close()
    stage.say(f"{ended} sessions ended")


def disk_full(stage: Stage) -> None:
    """Requests are made, and their results cannot be written."""
    stage.burst(200)
    with _session() as cursor:
        cursor.execute(_FILL_THE_DISK)
        time.sleep(stage.rng.uniform(*REFUSAL_SECONDS))
        cursor.execute(_FREE_THE_DISK)


def disk_full_for_long(stage: Stage) -> None:
    """The same for longer than the leases last: what was sent before the first refusal may not be sent again."""
    stage.burst(200)
    with _session() as cursor:
        cursor.execute(_FILL_THE_DISK)
        time.sleep(LONG_SECONDS)
        cursor.execute(_FREE_THE_DISK)


def read_only(stage: Stage) -> None:
    """Every transaction is read-only for a while, as on a server that failed over the wrong way."""
    stage.burst(200)
    time.sleep(stage.rng.uniform(0.05, 0.4))
    with _session() as cursor:
        cursor.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        cursor.execute("SELECT pg_reload_conf()")
        try:
            time.sleep(stage.rng.uniform(*REFUSAL_SECONDS))
        finally:
            cursor.execute("SET default_transaction_read_only = off")
            cursor.execute("ALTER SYSTEM RESET default_transaction_read_only")
            cursor.execute("SELECT pg_reload_conf()")
    connection.close()


def _restart(stage: Stage, mode: Mode) -> None:
    stage.burst(200)
    time.sleep(stage.rng.uniform(0.05, 0.6))
    connection.close()
    stage.ground.stop_postgres(mode)
    expect_status(stage, healthy=False, within=20)
    stage.ground.start_postgres()


@contextmanager
def _session() -> Iterator["psycopg2.extensions.cursor"]:
    """A session apart from Django's, whose own may be cut off."""
    session = psycopg2.connect(settings_url(), application_name="chaos")
    session.autocommit = True
    try:
        with session.cursor() as cursor:
            yield cursor
    finally:
        session.close()


def settings_url() -> str:
    """The database as libpq takes it."""
    where = settings.DATABASES["default"]
    host = where["HOST"] or where["OPTIONS"].get("host", "")
    return f"host={host} user={where['USER']} dbname={where['NAME']}"
