"""The inbox as counters and gauges want it: everything there ever was, and what waits now, in a few index probes.

`inbox.figures` answers people, who ask for the last 24 hours; this answers scrapers, who ask every few seconds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from django.db import connection

from inbox.transitions.tally import COLUMNS, SUMMED

COUNTED: Final = 10_000
"""Counts of what waits stop here, for each source."""

_TALLIES: Final = f"""
SELECT source.slug, tally.* FROM inbox_source source
CROSS JOIN LATERAL (SELECT {SUMMED} FROM inbox_sourcetally WHERE source_id = source.id) AS tally
ORDER BY source.id
"""  # noqa: S608  # the columns are constants of ours

# Days that were pruned are in the totals, and no day is in both.
_REFUSALS: Final = """
SELECT coalesce(source.slug, ''), refusal.reason, refusal.count
FROM (SELECT source_id, reason, sum(count)::bigint AS count FROM (
        SELECT source_id, reason, count FROM inbox_refusalcount
        UNION ALL SELECT source_id, reason, count FROM inbox_refusaltotal) AS counted
      GROUP BY source_id, reason) AS refusal
LEFT JOIN inbox_source source ON source.id = refusal.source_id
ORDER BY 1, 2
"""

_WAITING: Final = """
SELECT source.slug,
       (SELECT count(*) FROM (
            SELECT FROM inbox_receivedevent
            WHERE source_id = source.id AND status IN ('received', 'processing') LIMIT %(most)s) AS counted),
       coalesce((SELECT extract(epoch FROM now() - received_at)::float8 FROM inbox_receivedevent
        WHERE source_id = source.id AND status IN ('received', 'processing') ORDER BY received_at LIMIT 1), 0),
       coalesce((SELECT extract(epoch FROM now() - next_attempt_at)::float8 FROM inbox_receivedevent
        WHERE source_id = source.id AND status = 'received' AND next_attempt_at <= now()
        ORDER BY next_attempt_at LIMIT 1), 0)
FROM inbox_source source ORDER BY source.id
"""

_LETTERS: Final = """
SELECT source.slug, letter.failure_class, count(*) FROM (
    SELECT source_id, failure_class FROM inbox_deadletter WHERE resolution = 'open' ORDER BY id DESC LIMIT %(most)s
) AS letter JOIN inbox_source source ON source.id = letter.source_id
GROUP BY 1, 2 ORDER BY 1, 2
"""

_OLDEST_LETTER: Final = """
SELECT extract(epoch FROM now() - created_at)::float8 FROM inbox_deadletter
WHERE resolution = 'open' ORDER BY id LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """All that came in from a source and what became of it. `inbox.transitions.tally` says what the buckets hold."""

    source: str
    received: int
    duplicates: int
    conflicts: int
    latency_ms_total: int
    finished: Sequence[int]
    failed: Sequence[int]
    latency: Sequence[int]


assert tuple(field.name for field in fields(Tally)) == ("source", *COLUMNS)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a source has not finished. Ages are seconds, 0 where nothing waits; the count stops at COUNTED."""

    source: str
    unprocessed: int
    oldest_unprocessed_seconds: float
    oldest_due_seconds: float


def tallies() -> list[Tally]:
    """Every source, in the order in which they were made."""
    return [Tally(*row) for row in _read(_TALLIES)]


def refusals() -> list[tuple[str, str, int]]:
    """Source, reason and count; what named no source of ours comes under the empty name."""
    return [(source, reason, count) for source, reason, count in _read(_REFUSALS)]


def waiting() -> list[Waiting]:
    """Every source, in the order in which they were made."""
    return [Waiting(*row) for row in _read(_WAITING)]


def open_letters() -> list[tuple[str, str, int]]:
    """Source, class and count of the dead letters that wait for a person: of the newest COUNTED of all."""
    return [(source, failure, count) for source, failure, count in _read(_LETTERS)]


def oldest_letter_seconds() -> float:
    """The age of the oldest of them; 0 without any."""
    rows = _read(_OLDEST_LETTER)
    return float(rows[0][0]) if rows else 0.0


def _read(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"most": COUNTED})
        return list(cursor.fetchall())
