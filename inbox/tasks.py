"""Celery's doorbells: ids in, one call into a verb."""

from celery import shared_task

from inbox.process import process as process_source
from inbox.sweeps import due, lapsed, old, tallies, unannounced


@shared_task(name="inbox.process")
def process(source_id: int) -> None:
    """Process what is due of a source."""
    process_source(source_id)


@shared_task(name="inbox.sweep_due")
def sweep_due() -> None:
    """Ring for sources with due events."""
    due.sweep()


@shared_task(name="inbox.sweep_lapsed")
def sweep_lapsed() -> None:
    """Take back events whose worker died."""
    lapsed.sweep()


@shared_task(name="inbox.sweep_old")
def sweep_old() -> None:
    """Prune what has been kept long enough."""
    old.sweep()


@shared_task(name="inbox.sweep_unannounced")
def sweep_unannounced() -> None:
    """Mail the operators about new dead letters."""
    unannounced.sweep()


@shared_task(name="inbox.sweep_tallies")
def sweep_tallies() -> None:
    """Fold what was counted by the minute."""
    tallies.sweep()
