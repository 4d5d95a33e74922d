"""Which old events may go: chosen without a lock, then locked with their deliveries and judged again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import connection

EVENTS_PER_PAGE: Final = 200

# Counted with what hangs on them, so that a page stays short also where an event has hundreds of endpoints. The age
# index serves the order and the place; the subqueries look into unique indexes.
_CHOOSE: Final = """
WITH old AS MATERIALIZED (
    SELECT id, created_at FROM deliveries_event
    WHERE created_at < %(before)s AND (created_at, id) > (%(after_time)s, %(after_id)s)
    ORDER BY created_at, id LIMIT %(events)s
), judged AS (
    SELECT old.id, old.created_at, parts.may_go,
           row_number() OVER by_age AS position, count(*) OVER () AS found,
           sum(CASE WHEN parts.may_go THEN parts.rows ELSE 0 END) OVER by_age AS rows_so_far
    FROM old CROSS JOIN LATERAL (
        SELECT 1 + coalesce(sum(1 + attempt_count), 0) AS rows,
               coalesce(bool_and(status IN ('delivered', 'dead')), true) AND NOT EXISTS (
                   SELECT FROM deliveries_delivery delivery
                   JOIN deliveries_deadletter letter ON letter.delivery_id = delivery.id
                   WHERE delivery.event_id = old.id
                     AND (letter.resolution = 'open' OR letter.resolved_at >= %(letters_before)s)) AS may_go
        FROM deliveries_delivery WHERE event_id = old.id
    ) AS parts
    WINDOW by_age AS (ORDER BY old.created_at, old.id)
)
SELECT id, created_at, may_go, found FROM judged WHERE rows_so_far <= %(rows)s OR position = 1 ORDER BY position
"""

# An event that somebody holds is skipped: it is being given a delivery, or another run deletes it.
_LOCK_EVENTS: Final = """
SELECT id FROM deliveries_event WHERE id = ANY(%(events)s) ORDER BY id FOR UPDATE SKIP LOCKED
"""
# A replay that has just won a delivery holds its row, and one that comes now waits and then finds it gone.
_LOCK_DELIVERIES: Final = """
SELECT id FROM deliveries_delivery
WHERE event_id = ANY(%(events)s) AND status IN ('delivered', 'dead') ORDER BY id FOR UPDATE SKIP LOCKED
"""
# Both look afresh, at what was committed until the locks were there.
_DELIVERIES: Final = "SELECT event_id, id FROM deliveries_delivery WHERE event_id = ANY(%(events)s)"
_KEPT_BY_LETTERS: Final = """
SELECT delivery_id FROM deliveries_deadletter
WHERE delivery_id = ANY(%(deliveries)s) AND (resolution = 'open' OR resolved_at >= %(letters_before)s)
"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A page of old events, oldest first, as (id, created_at); those that may go at first sight; whether more comes."""

    judged: Sequence[tuple[str, datetime]]
    event_ids: Sequence[str]
    has_more: bool


@dataclass(frozen=True, slots=True)
class Candidates:
    """Events that may go for certain: they and all their deliveries are locked until the transaction ends."""

    event_ids: Sequence[str]
    delivery_ids: Sequence[int]


def choose(before: datetime, letters_before: datetime, after_time: datetime, after_id: str, rows: int) -> Chosen:
    """Look at the next events older than `before`: as many as come to about `rows` rows to delete, one at least."""
    found = _fetch(
        _CHOOSE,
        before=before,
        letters_before=letters_before,
        after_time=after_time,
        after_id=after_id,
        events=EVENTS_PER_PAGE,
        rows=rows,
    )
    if not found:
        return Chosen([], [], False)
    was_cut, was_full = len(found) < found[0][3], found[0][3] == EVENTS_PER_PAGE
    return Chosen(
        [(id, created_at) for id, created_at, _, _ in found],
        [id for id, _, may_go, _ in found if may_go],
        was_cut or was_full,
    )


def lock(chosen: Chosen, letters_before: datetime) -> Candidates:
    """Lock what was chosen, without waiting for anybody, and judge it again under the locks."""
    if not chosen.event_ids:
        return Candidates([], [])
    events = [id for (id,) in _fetch(_LOCK_EVENTS, events=list(chosen.event_ids))]
    ours = {id for (id,) in _fetch(_LOCK_DELIVERIES, events=events)}
    deliveries = _fetch(_DELIVERIES, events=events)
    letters = _fetch(_KEPT_BY_LETTERS, deliveries=list(ours), letters_before=letters_before)
    free = ours - {id for (id,) in letters}
    kept = {event_id for event_id, id in deliveries if id not in free}
    return Candidates(
        [id for id in events if id not in kept], [id for event_id, id in deliveries if event_id not in kept]
    )


def _fetch(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
