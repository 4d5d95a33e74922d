"""Counting what comes in and what becomes of it, in the statement or transaction that does it: no count is lost, none
is made up, and none goes down when rows are pruned.

Each connection counts in a row of its own, one a source and minute, so that nobody waits for a count. A sweep folds the
minutes into one row a source.
"""

from typing import Final

from django.db import connection

from inbox.errors import FailureClass
from inbox.statuses import Status

FINISHED: Final = (Status.PROCESSED, Status.STALE, Status.IGNORED, Status.DEAD)
"""What each bucket of finished events holds, in this order."""

FAILED: Final = tuple(FailureClass)
"""The same of failed attempts. New classes are added at the end only."""

LATENCY_MS: Final = (
    *(50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000),
    *(300_000, 1_800_000, 3_600_000, 21_600_000, 86_400_000),
)
"""Upper bounds of the time from receipt to the end of processing, in milliseconds; one more bucket holds the rest."""

LATENCY_BUCKET: Final = (
    f"(width_bucket({{}} - 1, ARRAY[{', '.join(str(bound) for bound in LATENCY_MS)}]::bigint[]) + 1)"
)
"""SQL of the position, from 1, of the bucket that holds so many whole milliseconds; a bound belongs to its bucket."""

SLOTS: Final = 64
"""Rows a source and minute at most. Two connections that share one wait for each other's commit, a millisecond."""

_NUMBERS: Final = ("received", "duplicates", "conflicts", "latency_ms_total")
_SERIES: Final = {"finished": len(FINISHED), "failed": len(FAILED), "latency": len(LATENCY_MS) + 1}
COLUMNS: Final = (*_NUMBERS, *_SERIES)
"""What a row counts."""

_NAMES: Final = ", ".join(COLUMNS)


def one(column: str, position: str) -> str:
    """SQL of a series in which one is counted, in the bucket at a position (an expression, from 1)."""
    empty = "array_fill(0::bigint, ARRAY[{}])".format
    return f"{empty(f'{position} - 1')} || 1::bigint || {empty(f'{_SERIES[column]} - {position}')}"


def tally(*numbers: str, **positions: str) -> str:
    """SQL that counts the row of `counted`, which has to come before it and has every column of the table.

    `numbers` are the columns that it adds; of each other one, the bucket at its position counts one more. Written out
    for what changes: planning longer SQL takes longer than running it. Needs %(source)s.
    """
    changes = [f"{name} = tally.{name} + excluded.{name}" for name in numbers]
    changes += [f"{name}[{at}] = coalesce(tally.{name}[{at}], 0) + 1" for name, at in positions.items()]
    return f"""
tallied AS (
    INSERT INTO inbox_sourcetally AS tally (source_id, starts_at, slot, {_NAMES})
    SELECT %(source)s, date_trunc('minute', now()), pg_backend_pid() %% {SLOTS}, {_NAMES} FROM counted
    ON CONFLICT (source_id, starts_at, slot) DO UPDATE SET {", ".join(changes)}
)
"""  # noqa: S608  # every part is a constant of ours


NOTHING: Final = "'{}'::bigint[]"
"""SQL of a series in which nothing is counted: a missing bucket is 0."""


def _failure(*, is_dead: bool) -> str:
    positions = {"failed": "%(failure)s"} | ({"finished": "%(dead)s"} if is_dead else {})
    return f"""
WITH counted AS (
    SELECT 0 AS received, 0 AS duplicates, 0 AS conflicts, 0 AS latency_ms_total, {NOTHING} AS latency,
           {one("failed", "%(failure)s")} AS failed, {one("finished", "%(dead)s") if is_dead else NOTHING} AS finished
), {tally(**positions)}
SELECT
"""  # every part is a constant of ours


_FAILURES: Final = {is_dead: _failure(is_dead=is_dead) for is_dead in (True, False)}


def _sums(row: str, other: str) -> str:
    """SQL that adds one row to another. A row written before a bucket existed lacks it."""
    sums = [f"{name} = {row}.{name} + {other}.{name}" for name in _NUMBERS]
    for name, length in _SERIES.items():
        places = [f"coalesce({row}.{name}[{place}], 0) + {other}.{name}[{place}]" for place in range(1, length + 1)]
        sums.append(f"{name} = ARRAY[{', '.join(places)}]")
    return ", ".join(sums)


def _summed() -> str:
    """SQL that adds up every column over many rows."""
    sums = [f"coalesce(sum({name}), 0)::bigint AS {name}" for name in _NUMBERS]
    for name, length in _SERIES.items():
        places = (f"coalesce(sum({name}[{place}]), 0)" for place in range(1, length + 1))
        sums.append(f"ARRAY[{', '.join(places)}]::bigint[] AS {name}")
    return ", ".join(sums)


SUMMED: Final = _summed()

_FOLD: Final = f"""
WITH taken AS (
    DELETE FROM inbox_sourcetally WHERE starts_at < now() - interval '2 minutes' RETURNING *
), summed AS (
    SELECT source_id, {SUMMED} FROM taken GROUP BY source_id ORDER BY source_id
), folded AS (
    INSERT INTO inbox_sourcetally AS tally (source_id, slot, {_NAMES}) SELECT source_id, 0, {_NAMES} FROM summed
    ON CONFLICT (source_id, starts_at, slot) DO UPDATE SET {_sums("tally", "excluded")}
)
SELECT count(*) FROM taken
"""  # noqa: S608  # every part is a constant of ours


def count_failure(source_id: int, failure: FailureClass, *, is_dead: bool) -> None:
    """Count a failed attempt, and that its event was given up by it, in the current transaction."""
    dead, failed = FINISHED.index(Status.DEAD) + 1, FAILED.index(failure) + 1
    with connection.cursor() as cursor:
        cursor.execute(_FAILURES[is_dead], {"source": source_id, "dead": dead, "failure": failed})


def fold_minutes() -> int:
    """Add the minutes that are over to their source's total; returns how many rows those were. Safe to run twice."""
    with connection.cursor() as cursor:
        cursor.execute(_FOLD)
        return int(cursor.fetchone()[0])
