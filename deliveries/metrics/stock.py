"""Gauges of what waits and how endpoints stand, from the census. Ages are 0 where nothing waits."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from deliveries.histograms import FAILURE_KINDS
from deliveries.metrics.families import gauge, gauges
from deliveries.watch.census import COUNTED, Census
from endpoints.health import Level
from endpoints.models import State

CLASSES = (*(kind.value for kind in FAILURE_KINDS), "expired", "archived")
CIRCUITS = ("closed", "open", "half-open")

_MOST = f"Counts stop at {COUNTED:,}."


def families(census: Census) -> Iterator[Metric]:
    """Every label is there, with 0 where nothing is, so that a graph has no gaps and an alert no blind spot."""
    yield from _deliveries(census)
    yield from _letters(census)
    yield from _endpoints(census)
    yield gauge("holdfast_census_age_seconds", "Since what waits was counted.", census.age_seconds)
    yield gauge("holdfast_census_duration_seconds", "How long that count took.", census.took_seconds)


def _deliveries(census: Census) -> Iterator[Metric]:
    yield gauge(
        "holdfast_deliveries_pending", f"Deliveries that wait for an attempt, due or not. {_MOST}", census.pending
    )
    yield gauge(
        "holdfast_deliveries_due",
        f"Those of active endpoints whose time has come; a limit, hold or open circuit may keep them. {_MOST}",
        census.due,
    )
    yield gauge("holdfast_deliveries_sending", f"Deliveries that a worker holds. {_MOST}", census.sending)
    yield gauge(
        "holdfast_oldest_due_seconds",
        "Age of the oldest due delivery of the endpoints that may be sent to now; 0 without any.",
        census.oldest_due_seconds or 0.0,
    )
    yield gauge(
        "holdfast_oldest_unattended_seconds",
        "The same of those for which no wake-up waits, no timer is set and no worker drains.",
        census.oldest_unattended_seconds or 0.0,
    )
    yield gauge(
        "holdfast_oldest_lapsed_lease_seconds",
        "Since the oldest lease ran out that nobody took back; 0 without any.",
        census.oldest_lapsed_lease_seconds or 0.0,
    )


def _letters(census: Census) -> Iterator[Metric]:
    yield gauges(
        "holdfast_dead_letters_open",
        f"Dead letters that wait for a person, by class. {_MOST}",
        "class",
        _whole(CLASSES, census.dead_letters),
    )
    yield gauge(
        "holdfast_oldest_open_dead_letter_seconds",
        "Age of the oldest dead letter that is open; 0 without any.",
        census.oldest_dead_letter_seconds or 0.0,
    )


def _endpoints(census: Census) -> Iterator[Metric]:
    yield gauges("holdfast_endpoints", "Endpoints by state.", "state", _whole(State.values, census.endpoints))
    yield gauges(
        "holdfast_endpoints_by_health",
        "Active endpoints by the level of their health.",
        "level",
        _whole([level.value for level in Level], census.levels),
    )
    yield gauges(
        "holdfast_endpoints_by_circuit",
        "Active endpoints by their circuit; none while Redis is away.",
        "circuit",
        _whole(CIRCUITS, census.circuits),
    )
    yield gauge("holdfast_endpoints_due", "Active endpoints with due deliveries.", census.endpoints_due)
    yield gauge(
        "holdfast_endpoints_held",
        "Those of them that nothing may be sent to now: an open circuit, a Retry-After, the head of an order.",
        census.endpoints_held,
    )


def _whole(names: tuple[str, ...] | list[str], counts: Mapping[str, int]) -> dict[str, int]:
    return dict.fromkeys(names, 0) | dict(counts)
