"""The ends of receivers' TLS certificates on their way to the database: each once in a while, not with every request.

Only a new connection shows a certificate, and what this process has written lately it does not write again.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from django.db import DatabaseError, InterfaceError, connection

from deliveries.transitions.certificates import keep
from deliveries.transitions.settle import Result

logger = logging.getLogger(__name__)

REPEAT_SECONDS: Final = 900.0
"""How soon the same is written again. Well below the hour after which a renewed certificate takes the place of one that
is not seen any more."""

MOST_REMEMBERED: Final = 20_000


class Sightings:
    """What has been written lately. Safe to use from the recording threads of several drains: twice does no harm."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._written: dict[tuple[int, datetime], float] = {}

    def note(self, results: Sequence[Result]) -> None:
        """Write what these attempts saw of certificates, if that is news. A database that refuses gets it later."""
        seen = {(row.claimed.endpoint_id, row.certificate_ends_at) for row in results if row.certificate_ends_at}
        now = self._clock()
        news = {each for each in seen if now - self._written.get(each, -REPEAT_SECONDS) >= REPEAT_SECONDS}
        if not news:
            return
        try:
            keep(news)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("%d certificates are noted later: %s", len(news), type(error).__name__)
            connection.close()
            return
        if len(self._written) > MOST_REMEMBERED:
            self._written.clear()
        self._written |= dict.fromkeys(news, now)


_sightings = Sightings()


def note(results: Sequence[Result]) -> None:
    """The same, with the memory of this process."""
    _sightings.note(results)
