"""Results on their way from the sending threads to the database: recorded in bulk, at least once a second."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import DatabaseError, InterfaceError, connection

from deliveries.drain import certificates
from deliveries.transitions.settle import Result, Settled, settle

logger = logging.getLogger(__name__)

ROWS_PER_STATEMENT = 500
RECORD_SECONDS = 0.2
"""The longest a result waits for company."""


class Outbox:
    """Collects results from many threads; one thread records them.

    A result that cannot be recorded is kept and tried again as long as its lease may hold: the request was made, so the
    bookkeeping comes before anything else.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._results: list[Result] = []
        self._arrived = threading.Event()
        self._oldest_at: float | None = None
        self._failing_since: float | None = None

    def put(self, result: Result) -> None:
        """Called by the sending threads."""
        self._results.append(result)
        if self._oldest_at is None:
            self._oldest_at = self._clock()
        if len(self._results) >= ROWS_PER_STATEMENT:
            self._arrived.set()

    def nudge(self) -> None:
        """Wake the recording thread: there is nothing more to wait for."""
        self._arrived.set()

    def wait(self, seconds: float) -> None:
        """Sleep until there is a statement's worth of results, somebody nudges, or the time is over."""
        self._arrived.wait(seconds)
        self._arrived.clear()

    @property
    def is_empty(self) -> bool:
        return not self._results

    def holds(self, endpoint_id: int) -> bool:
        """Whether a result of this endpoint is not recorded yet."""
        return any(result.claimed.endpoint_id == endpoint_id for result in self._results)

    @property
    def is_failing(self) -> bool:
        """Whether the database refused the last batch."""
        return self._failing_since is not None

    @property
    def is_ripe(self) -> bool:
        """Whether the oldest result has waited long enough, or enough have come together."""
        if self._failing_since is not None:
            return True
        return len(self._results) >= ROWS_PER_STATEMENT or (
            self._oldest_at is not None and self._clock() - self._oldest_at >= RECORD_SECONDS
        )

    def record(self, patience_seconds: float) -> Settled:
        """Write what has come in. While the database refuses, keep the results for up to `patience_seconds`."""
        # The sending threads only append, so what is cut off here is whole.
        batch = self._results[:ROWS_PER_STATEMENT]
        if not batch:
            return Settled(set(), [])
        try:
            settled = settle(batch)
        except (DatabaseError, InterfaceError) as error:
            self._keep_or_drop(batch, error, patience_seconds)
            return Settled(set(), [])
        self._forget(batch)
        certificates.note(batch)
        if late := len(batch) - len(settled.delivery_ids):
            logger.warning("%d results came after their lease had lapsed and were not recorded", late)
        return settled

    def _keep_or_drop(self, batch: list[Result], error: Exception, patience_seconds: float) -> None:
        connection.close()
        now = self._clock()
        if self._failing_since is None:
            self._failing_since = now
        if now - self._failing_since < patience_seconds:
            logger.warning("%d results wait for the database: %s", len(self._results), type(error).__name__)
            return
        logger.error("%d results given up, their leases lapse and they are sent again", len(batch))
        self._forget(batch)

    def _forget(self, batch: list[Result]) -> None:
        # In this order: a result that comes in between notes its own time, or is seen by the last look.
        self._oldest_at = self._failing_since = None
        del self._results[: len(batch)]
        if self._results:
            self._oldest_at = self._clock()
