"""Announce dead letters that nobody was told about: their message was lost, or the mail could not be sent."""

from dataclasses import dataclass
from typing import Final

from django.db import connection

from deliveries import dispatch
from deliveries.operations import pages
from deliveries.watch import heartbeats

AGE_SECONDS: Final = 60
"""Younger ones are still on their way through the queue."""

LETTERS_PER_MESSAGE: Final = 100
LETTERS_PER_SWEEP: Final = 1000
"""A bound, so that a mail server that is down for hours does not fill the broker with repeats."""

_UNANNOUNCED = """
SELECT id FROM deliveries_deadletter
WHERE announced_at IS NULL AND created_at < now() - make_interval(secs => %s)
ORDER BY id LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class UnannouncedSwept:
    """Dead letters announced once more."""

    announced: int


def sweep() -> UnannouncedSwept:
    """Send the oldest ones to the dead-letter queue again; its consumer marks them, so a repeat mails nobody twice."""
    with connection.cursor() as cursor:
        cursor.execute(_UNANNOUNCED, [AGE_SECONDS, LETTERS_PER_SWEEP])
        ids = [row[0] for row in cursor.fetchall()]
    for page in pages(ids, LETTERS_PER_MESSAGE):
        dispatch.announce(page)
    heartbeats.note("unannounced")
    return UnannouncedSwept(len(ids))
