"""Ring for sources whose events are due: whatever the broker lost, they are processed."""

import logging
from dataclasses import dataclass
from typing import Final

from django.db import connection

from inbox import dispatch, signs

logger = logging.getLogger(__name__)

OVERDUE_SECONDS: Final = 60.0
"""Work this old says that messages were lost or that the workers are behind."""

# One look at the beginning of the index per source, not a count of what waits.
_DUE = """
SELECT source.id, extract(epoch FROM now() - due.next_attempt_at)::float8
FROM inbox_source source
CROSS JOIN LATERAL (
    SELECT next_attempt_at FROM inbox_receivedevent
    WHERE source_id = source.id AND status = 'received' AND next_attempt_at <= now()
    ORDER BY next_attempt_at LIMIT 1
) AS due
"""


@dataclass(frozen=True, slots=True)
class DueSwept:
    """Sources with due events, and how many were rung now."""

    due: int
    rung: int
    oldest_overdue_seconds: float


def sweep() -> DueSwept:
    """Wake every source that has a due event; those whose bell rings already are not rung twice."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE)
        overdue = dict(cursor.fetchall())
    oldest = max(overdue.values(), default=0.0)
    if oldest > OVERDUE_SECONDS:
        logger.warning("received events have been due for %.0f s: messages were lost or workers are behind", oldest)
    rung = dispatch.wake(list(overdue)) if overdue else 0
    signs.note("due")
    return DueSwept(len(overdue), rung, oldest)
