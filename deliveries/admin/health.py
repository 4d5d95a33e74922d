"""The health of an endpoint on its page: the last verdict, and the last hour in figures."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.page import Table
from console.presentation import EMPTY, badge, moment
from deliveries.admin.attempts import took
from deliveries.models import EndpointHealth
from deliveries.watch.certificates import certificate_of
from deliveries.watch.figures import Backlog, Figures, backlog, of_endpoint
from deliveries.watch.probing import probing_of
from endpoints.health import Sign
from endpoints.models import Endpoint


def health_of(endpoint: Endpoint) -> EndpointHealth | None:
    """The last verdict; None when it was never judged."""
    return getattr(endpoint, "health", None)


def score(endpoint: Endpoint) -> SafeString | str:
    """For the list: the score in the tone of its level."""
    health = health_of(endpoint)
    if health is None or health.score is None:
        return EMPTY
    return format_html("{} {}", health.score, badge(health.level))


def health_table(endpoint: Endpoint) -> Table:
    """The verdict with its reason, then the last hour's figures."""
    health = health_of(endpoint)
    now = timezone.now()
    hour = of_endpoint(endpoint.pk, now - timedelta(hours=1), now)
    rows = [
        *(_verdict_rows(health) if health else ()),
        *_probe_rows(endpoint),
        *_certificate_rows(endpoint),
        *_figure_rows(hour),
        *_dead_rows(backlog(endpoint.pk), now),
    ]
    return Table("Health", ("", ""), rows, empty="Nothing was sent in the last hour, and it was never judged.")


def _verdict_rows(health: EndpointHealth) -> Sequence[Sequence[Any]]:
    rows = [
        ("Level", format_html("{} since {}", badge(health.level), moment(health.since))),
        ("Score", EMPTY if health.score is None else f"{health.score} of 100"),
        ("Reason", health.reason),
        ("Judged", moment(health.judged_at)),
        ("Last success", moment(health.last_success_at)),
    ]
    if health.sign != Sign.NONE:
        rows.append(("What the failures look like", health.sign))
    if health.last_error:
        rows.append(("Last error when it got worse", health.last_error))
    return rows


def _probe_rows(endpoint: Endpoint) -> Sequence[Sequence[Any]]:
    probing = probing_of(endpoint)
    return [("Next probe", probing.sentence)] if probing else ()


def _certificate_rows(endpoint: Endpoint) -> Sequence[Sequence[Any]]:
    known = certificate_of(endpoint)
    if known is None:
        return ()
    return [("TLS certificate", format_html("ends {}, last seen {}", moment(known.ends_at), moment(known.seen_at)))]


def _figure_rows(hour: Figures) -> Sequence[Sequence[Any]]:
    if not hour.attempts:
        return ()
    failed = ", ".join(f"{kind} {count:,}" for kind, count in hour.failed.items())
    return [
        ("Last hour", f"{hour.attempts:,} attempts, {share(hour.success_rate)} succeeded"),
        ("Failed", failed or EMPTY),
        ("Refused credentials", share(hour.auth_failure_rate)),
        ("Throttled", share(hour.throttling_rate)),
        ("Arrived with more than one attempt", share(hour.retry_rate)),
        ("Duration of an attempt", _percentiles(hour.latency_ms)),
        ("From event to acknowledgement", _percentiles(hour.latency_end_to_end_ms)),
    ]


def _dead_rows(waiting: Backlog, now: datetime) -> Sequence[Sequence[Any]]:
    if waiting.oldest_open_dead_letter_seconds is None:
        return ()
    classes = ", ".join(f"{name} {count:,}" for name, count in sorted(waiting.dead_letters_by_class.items()))
    oldest = moment(now - timedelta(seconds=waiting.oldest_open_dead_letter_seconds))
    return [("Open dead letters", format_html("{}, the oldest from {}", classes, oldest))]


def share(value: float | None) -> str:
    """A share as people read it."""
    return EMPTY if value is None else f"{value:.1%}"


def _percentiles(latencies: dict[str, float | None]) -> str:
    known = [f"{name} {took(round(ms))}" for name, ms in latencies.items() if ms is not None]
    return ", ".join(known) or EMPTY
