"""Celery's doorbells: ids in, one call into a verb."""

from collections.abc import Sequence
from typing import Any

from celery import shared_task

from deliveries import alerts, dispatch
from deliveries.deliver import deliver_in_turn
from deliveries.probe import probe as make_probes
from deliveries.sweeps import (
    alarms,
    certificates,
    due,
    expired,
    figures,
    health,
    lapsed,
    notices,
    old,
    probes,
    rollups,
    unannounced,
)


@shared_task(bind=True, name="deliveries.deliver", max_retries=None)
def deliver(self: Any, endpoint_ids: Sequence[int]) -> None:
    """Send what is due for these endpoints, and come back when the next of them is."""
    waits = deliver_in_turn(endpoint_ids)
    if waits:
        queue, ours = dispatch.route_timers(waits)
        raise self.retry(args=[sorted(ours)], queue=queue, countdown=dispatch.countdown(ours))


@shared_task(name="deliveries.announce")
def announce(dead_letter_ids: Sequence[int]) -> None:
    """Alert and mail about new dead letters."""
    alerts.announce(dead_letter_ids)


@shared_task(name="deliveries.probe")
def probe(endpoint_ids: Sequence[int]) -> None:
    """Try disabled endpoints whose probe is due."""
    make_probes(endpoint_ids)


@shared_task(name="deliveries.sweep_due")
def sweep_due() -> None:
    """Ring for endpoints with due deliveries."""
    due.sweep()


@shared_task(name="deliveries.sweep_lapsed")
def sweep_lapsed() -> None:
    """Take back deliveries whose worker died."""
    lapsed.sweep()


@shared_task(name="deliveries.sweep_expired")
def sweep_expired() -> None:
    """Bury what can no longer be delivered."""
    expired.sweep()


@shared_task(name="deliveries.sweep_unannounced")
def sweep_unannounced() -> None:
    """Announce dead letters that nobody was told about."""
    unannounced.sweep()


@shared_task(name="deliveries.sweep_old")
def sweep_old() -> None:
    """Delete what has been kept long enough."""
    old.sweep()


@shared_task(name="deliveries.sweep_health")
def sweep_health() -> None:
    """Judge endpoints, warn, disable, archive."""
    health.sweep()


@shared_task(name="deliveries.sweep_probes")
def sweep_probes() -> None:
    """Ring for disabled endpoints that are to be tried again."""
    probes.sweep()


@shared_task(name="deliveries.sweep_certificates")
def sweep_certificates() -> None:
    """Warn of TLS certificates that end soon."""
    certificates.sweep()


@shared_task(name="deliveries.sweep_alarms")
def sweep_alarms() -> None:
    """Watch the dead letters and whether the pipeline moves."""
    alarms.sweep()


@shared_task(name="deliveries.sweep_notices")
def sweep_notices() -> None:
    """Send notices that wait."""
    notices.sweep()


@shared_task(name="deliveries.sweep_rollups")
def sweep_rollups() -> None:
    """Fold minutes into hours and delete old hours."""
    rollups.sweep()


@shared_task(name="deliveries.sweep_figures")
def sweep_figures() -> None:
    """Bring up to date what a scrape reads."""
    figures.sweep()
