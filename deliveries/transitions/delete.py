"""Final → gone: what has been kept long enough is deleted, a page at a time, each page a short transaction.

A page looks at the next rows in the order of their age and deletes those that may go, so that a run comes to its end
whatever has to stay, and another can go on where it stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.db import connection

from deliveries.transitions.old_events import choose, lock


@dataclass(frozen=True, slots=True)
class Place:
    """How far a run has looked: the time and id of the last row it judged."""

    time: datetime
    id: str


BEGINNING: Final = Place(datetime(1970, 1, 1, tzinfo=UTC), "0")


@dataclass(frozen=True, slots=True)
class Page:
    """What one page did; `place` is None when there is nothing further to look at."""

    deleted: int
    place: Place | None


_DELETE_PARTS: Final = (
    "DELETE FROM deliveries_attempt WHERE delivery_id = ANY(%(deliveries)s)",
    "DELETE FROM deliveries_deadletter WHERE delivery_id = ANY(%(deliveries)s)",
    "DELETE FROM deliveries_delivery WHERE id = ANY(%(deliveries)s)",
    "DELETE FROM deliveries_event WHERE id = ANY(%(events)s)",
)

# What somebody holds is skipped here and below: another run is deleting it, in an order of its own.
# A letter that was redriven has done its work. A discarded one is the reason why its delivery is dead: it stays as
# long as that. While a delivery is on its way, a stop of the redrive may still have to open its letter again.
_DELETE_LETTERS: Final = """
WITH page AS MATERIALIZED (
    SELECT id, created_at, delivery_id FROM deliveries_deadletter
    WHERE resolution = 'redriven' AND id > %(id)s ORDER BY id LIMIT %(rows)s
), free AS (
    SELECT letter.id FROM page JOIN deliveries_deadletter letter USING (id)
    JOIN deliveries_delivery delivery ON delivery.id = page.delivery_id
    WHERE letter.resolution = 'redriven' AND letter.resolved_at < %(before)s
      AND delivery.status IN ('delivered', 'dead')
    FOR UPDATE OF letter SKIP LOCKED
), gone AS (
    DELETE FROM deliveries_deadletter letter USING free WHERE letter.id = free.id RETURNING letter.id
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM page), created_at, id FROM page ORDER BY id DESC LIMIT 1
"""

_DELETE_ATTEMPTS: Final = """
WITH page AS MATERIALIZED (
    SELECT id, started_at, delivery_id FROM deliveries_attempt
    WHERE started_at < %(before)s AND (started_at, id) > (%(time)s, %(id)s) ORDER BY started_at, id LIMIT %(rows)s
), free AS (
    SELECT attempt.id FROM page JOIN deliveries_attempt attempt USING (id)
    JOIN deliveries_delivery delivery ON delivery.id = page.delivery_id
    WHERE delivery.status IN ('delivered', 'dead')
    FOR UPDATE OF attempt SKIP LOCKED
), gone AS (
    DELETE FROM deliveries_attempt attempt USING free WHERE attempt.id = free.id RETURNING attempt.id
)
SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM page), started_at, id FROM page
ORDER BY started_at DESC, id DESC LIMIT 1
"""


def delete_events(before: datetime, letters_before: datetime, after: Place, rows: int) -> Page:
    """Delete events older than `before` and all that hangs on them, about `rows` rows in all. Call it in a transaction.

    An event stays while anything of it is on its way, and while it has a dead letter that is open or was resolved after
    `letters_before`.
    """
    chosen = choose(before, letters_before, after.time, after.id, rows)
    if not chosen.judged:
        return Page(0, None)
    locked = lock(chosen, letters_before)
    if locked.event_ids:
        _delete(locked.event_ids, locked.delivery_ids)
    last_id, last_time = chosen.judged[-1]
    return Page(len(locked.event_ids), Place(last_time, last_id) if chosen.has_more else None)


def delete_redriven_letters(before: datetime, after: Place, rows: int) -> Page:
    """Judge the next `rows` redriven dead letters and delete those that were redriven before `before`."""
    page, last = _delete_page(_DELETE_LETTERS, before, after, rows)
    # Nothing is redriven before it was written, and ids grow with time.
    return Page(page.deleted, None) if last and last >= before else page


def delete_attempts(before: datetime, after: Place, rows: int) -> Page:
    """Judge the next `rows` attempts older than `before` and delete those of finished deliveries."""
    return _delete_page(_DELETE_ATTEMPTS, before, after, rows)[0]


def _delete(event_ids: Sequence[str], delivery_ids: Sequence[int]) -> None:
    values: dict[str, Any] = {"events": list(event_ids), "deliveries": list(delivery_ids)}
    with connection.cursor() as cursor:
        for statement in _DELETE_PARTS:
            cursor.execute(statement, values)


def _delete_page(statement: str, before: datetime, after: Place, rows: int) -> tuple[Page, datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"before": before, "time": after.time, "id": int(after.id), "rows": rows})
        if not (found := cursor.fetchone()):
            return Page(0, None), None
        deleted, seen, time, id = found
        return Page(deleted, Place(time, str(id)) if seen == rows else None), time
