"""Counting what the door turned away."""

import logging
from typing import Final

from django.db import Error, connection, transaction

logger = logging.getLogger(__name__)

SIGNATURE_REASONS: Final = ("bad-signature", "no-signature")
"""Somebody without the key, or a key of ours that is wrong; every other refusal says something else."""

_COUNT = """
INSERT INTO inbox_refusalcount AS counted (source_id, day, reason, keys, count, last_at)
VALUES (%s, (now() AT TIME ZONE 'UTC')::date, %s, %s, 1, now())
ON CONFLICT (source_id, day, reason, keys) DO UPDATE SET count = counted.count + 1, last_at = now()
"""


def count_refusal(source_id: int | None, reason: str, keys: tuple[str, ...] = ()) -> None:
    """Add one to today's count. Never raises: the answer is a refusal whether or not it could be counted."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            # Anybody can make us count, so nobody shall make us wait for the disk.
            cursor.execute("SET LOCAL synchronous_commit TO off")
            cursor.execute(_COUNT, [source_id, reason, " ".join(keys)[:200]])
    except Error as error:
        logger.warning("a refusal (%s) could not be counted: %s", reason, error)
