"""The database's clock, by which rollups are kept: a worker whose clock is off must not judge by it."""

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """The moment, aware, in UTC."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now
