"""How much of what is old may go, counted without touching anything. For people: it may read many rows."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from deliveries.models import Attempt, DeadLetter, Delivery, Event, Resolution
from deliveries.statuses import FINAL


@dataclass(frozen=True, slots=True)
class Cuts:
    """What is older than these moments may go."""

    events: datetime
    dead_letters: datetime
    attempts: datetime


def count_events(cuts: Cuts) -> int:
    """Events that `delete_events` would delete."""
    return _events(cuts).count()


def count_dead_letters(cuts: Cuts) -> int:
    """Redriven dead letters that would be deleted without their event."""
    old = DeadLetter.objects.filter(
        resolution=Resolution.REDRIVEN, resolved_at__lt=cuts.dead_letters, delivery__status__in=FINAL
    )
    return old.exclude(delivery__event__in=_events(cuts)).count()


def count_attempts(cuts: Cuts) -> int:
    """Attempts that would be deleted without their event."""
    old = Attempt.objects.filter(started_at__lt=cuts.attempts, delivery__status__in=FINAL)
    return old.exclude(delivery__event__in=_events(cuts)).count()


def _events(cuts: Cuts) -> QuerySet[Event]:
    unfinished = Delivery.objects.filter(event=OuterRef("pk")).exclude(status__in=FINAL)
    keeping = DeadLetter.objects.filter(
        Q(resolution=Resolution.OPEN) | Q(resolved_at__gte=cuts.dead_letters), delivery__event=OuterRef("pk")
    )
    return Event.objects.filter(~Exists(unfinished), ~Exists(keeping), created_at__lt=cuts.events).order_by()
