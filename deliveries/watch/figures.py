"""What the attempts of a window came to, for each endpoint and together, read from rollups only; and what waits.

A rollup is a row an endpoint and minute, so a look costs the same however much was sent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from django.db import connection

from deliveries.histograms import ATTEMPT_MS, END_TO_END_MS, attempt_names, by_kind, percentile
from deliveries.transitions.sums import summed

COUNTED: Final = 100_000
"""Counts of what waits stop here: a look must not cost more than the work."""

SHARES: Final = {"p50": 0.50, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts of one window, as the rollups keep them, and what follows from them. Rates are shares, None without any.

    `delivered_by_number`, `attempt_ms` and `end_to_end_ms` hold a count for each bucket of `deliveries.histograms`.
    """

    attempts: int = 0
    delivered: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    delivered_by_number: Sequence[int] = ()
    attempt_ms: Sequence[int] = ()
    end_to_end_ms: Sequence[int] = ()

    @property
    def success_rate(self) -> float | None:
        return self._share(self.delivered)

    @property
    def retry_rate(self) -> float | None:
        """Share of the deliveries that arrived which took more than one attempt."""
        return sum(self.delivered_by_number[1:]) / self.delivered if self.delivered else None

    @property
    def auth_failure_rate(self) -> float | None:
        """Share of attempts answered 401 or 403: a matter of secrets, told apart from other failures."""
        return self._share(self.failed.get("auth", 0))

    @property
    def throttling_rate(self) -> float | None:
        """Share of attempts answered 408, 425 or 429."""
        return self._share(self.failed.get("throttled", 0))

    @property
    def latency_ms(self) -> dict[str, float | None]:
        """p50, p95 and p99 of the duration of an attempt, in milliseconds, as exact as the buckets are narrow."""
        return {name: percentile(self.attempt_ms, ATTEMPT_MS, share) for name, share in SHARES.items()}

    @property
    def latency_end_to_end_ms(self) -> dict[str, float | None]:
        """The same from the recording of an event to its acknowledgement."""
        return {name: percentile(self.end_to_end_ms, END_TO_END_MS, share) for name, share in SHARES.items()}

    @property
    def succeeded_at(self) -> dict[str, int]:
        """How many deliveries arrived at which attempt: by "1", "2", "3", "4-5", "6-10" and "more"."""
        return dict(zip(attempt_names(), self.delivered_by_number, strict=False))

    def summary(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "attempts": self.attempts,
            "delivered": self.delivered,
            "success_rate": self.success_rate,
            "retry_rate": self.retry_rate,
            "auth_failure_rate": self.auth_failure_rate,
            "throttling_rate": self.throttling_rate,
            "failed": dict(self.failed),
            "succeeded_at": self.succeeded_at,
            "latency_ms": self.latency_ms,
            "latency_end_to_end_ms": self.latency_end_to_end_ms,
        }

    def _share(self, count: int) -> float | None:
        return count / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True)
class Traffic:
    """The figures of all endpoints together, and of each that had any attempts, by its id."""

    overall: Figures
    by_endpoint: dict[int, Figures]


@dataclass(slots=True)
class Backlog:
    """What waits now. Counts stop at COUNTED; the age is seconds, None where nothing is open."""

    pending: int = 0
    open_dead_letters: int = 0
    oldest_open_dead_letter_seconds: float | None = None
    dead_letters_by_class: dict[str, int] = field(default_factory=dict)

    def summary(self) -> dict[str, Any]:
        return asdict(self)


_TRAFFIC: Final = f"""
SELECT {{who}}, coalesce(sum(attempts), 0)::bigint, coalesce(sum(delivered), 0)::bigint,
       {summed("failed_by_kind")}, {summed("delivered_by_number")}, {summed("attempt_ms")}, {summed("end_to_end_ms")}
FROM deliveries_endpointspan
WHERE minutes IN (1, 60) AND starts_at > %(since)s AND starts_at <= %(until)s {{narrowed}}
GROUP BY GROUPING SETS ({{sets}})
"""  # noqa: S608  # the columns are constants of ours
_EACH_AND_ALL: Final = _TRAFFIC.format(who="endpoint_id", narrowed="", sets="(endpoint_id), ()")
_ALL: Final = _TRAFFIC.format(who="NULL", narrowed="", sets="()")
_ONE: Final = _TRAFFIC.format(who="NULL", narrowed="AND endpoint_id = %(endpoint)s", sets="()")

_BACKLOG: Final = """
SELECT (SELECT count(*) FROM (SELECT FROM deliveries_delivery WHERE status = 'pending' {narrowed} LIMIT %(most)s) AS c),
       (SELECT extract(epoch FROM now() - created_at)::float8 FROM deliveries_deadletter
        WHERE resolution = 'open' {narrowed} ORDER BY id LIMIT 1),
       (SELECT coalesce(json_object_agg(failure_class, number), '{{}}') FROM (
            SELECT failure_class, count(*) AS number FROM (
                SELECT failure_class FROM deliveries_deadletter
                WHERE resolution = 'open' {narrowed} ORDER BY id DESC LIMIT %(most)s) AS newest
            GROUP BY failure_class) AS classes)
"""


def traffic(since: datetime, until: datetime) -> Traffic:
    """What was attempted after `since`: minutes, and hours where minutes were folded, that begin within the window."""
    rows = _read(_EACH_AND_ALL, {"since": since, "until": until})
    figures = {row[0]: _figures(row) for row in rows}
    return Traffic(figures.pop(None, Figures()), {id: each for id, each in figures.items() if id is not None})


def overall(since: datetime, until: datetime) -> Figures:
    """The same for all endpoints together."""
    return _figures(_read(_ALL, {"since": since, "until": until})[0])


def of_endpoint(endpoint_id: int, since: datetime, until: datetime) -> Figures:
    """The same for one endpoint."""
    return _figures(_read(_ONE, {"since": since, "until": until, "endpoint": endpoint_id})[0])


def backlog(endpoint_id: int | None = None) -> Backlog:
    """What waits for all endpoints, or for one."""
    narrowed = "" if endpoint_id is None else "AND endpoint_id = %(endpoint)s"
    [(pending, oldest, classes)] = _read(_BACKLOG.format(narrowed=narrowed), {"most": COUNTED, "endpoint": endpoint_id})
    return Backlog(pending, sum(classes.values()), oldest, classes)


def _read(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _figures(row: tuple[Any, ...]) -> Figures:
    _id, attempts, delivered, failed, *series = row
    return Figures(attempts, delivered, {str(kind): count for kind, count in by_kind(failed).items()}, *series)
