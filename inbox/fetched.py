"""Since when what we hold of a provider's object is known to be right, so that a burst of events needs one fetch.

An event that arrived before an applied fetch began is covered by it: the provider answered with a state that is at
least as new as the event. All times are the database's.
"""

from datetime import datetime

from django.db import connection

_IS_COVERED = """
SELECT EXISTS (SELECT 1 FROM inbox_fetchedobject WHERE source_id = %s AND key = %s AND fetched_at > %s),
       clock_timestamp()
"""

# The row lock makes fetches of one object apply one after the other; an older one finds a newer mark and is dropped.
_MARK = """
INSERT INTO inbox_fetchedobject AS mark (source_id, key, fetched_at) VALUES (%s, %s, %s)
ON CONFLICT (source_id, key) DO UPDATE SET fetched_at = excluded.fetched_at
WHERE mark.fetched_at < excluded.fetched_at
"""


def is_covered(source_id: int, key: str, received_at: datetime) -> tuple[bool, datetime]:
    """Whether a fetch that began after the event arrived was applied; and the database's time now."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_COVERED, [source_id, key, received_at])
        covered, now = cursor.fetchone()
        return bool(covered), now


def mark(source_id: int, key: str, began_at: datetime) -> bool:
    """Note in the caller's transaction that a fetch is applied; False when a newer one was, which is to be kept."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [source_id, key, began_at])
        return bool(cursor.rowcount)
