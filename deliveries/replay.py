"""Replay: send again what was delivered, and for the first time what an endpoint missed."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from deliveries import operations
from deliveries.models import Delivery, Event, Operation
from deliveries.statuses import Status
from deliveries.transitions import replay as rows
from deliveries.transitions.pace import Pace
from deliveries.transitions.replay import Replayed
from endpoints.models import State

EVENTS_PER_PAGE: Final = 100

_LEFT_ALONE: Final = {
    Status.PENDING: "on their way already",
    Status.SENDING: "on their way already",
    Status.DEAD: "dead, which a redrive brings back",
    Status.DELIVERED: "whose endpoint is archived",
}


@dataclass(slots=True)
class ReplayPreview:
    """What a replay would do: deliveries to send again, first ones to send, how many would wait, and what it leaves."""

    ready: int = 0
    missed: int = 0
    held: int = 0
    refusals: Counter[str] = field(default_factory=Counter)


def replay(
    deliveries: QuerySet[Delivery] | Iterable[int],
    *,
    actor: str,
    note: str = "",
    selection: str = "",
    rate_per_second: float | None = None,
) -> Operation:
    """Send delivered deliveries again, same id and bytes, each with a fresh budget; receivers deduplicate on the id.

    Rows on their way, dead, or of an archived endpoint are left alone and counted in the operation's `refused`, in
    words in its `selection`. Deliveries of a paused or disabled endpoint wait for it.
    """
    given = deliveries.values_list("pk", flat=True) if isinstance(deliveries, QuerySet) else deliveries
    ids = sorted(set(given))
    selection = selection or f"{len(ids)} deliver{'y' if len(ids) == 1 else 'ies'} by id."
    operation = _begin(actor, note, selection, rate_per_second)
    tally = _Tally()
    for page in operations.pages(ids):
        with transaction.atomic():
            tally.add(operation, rows.replay(page, operation.pk, operations.pace(operation)), page)
    return operations.finish(operation, held=tally.held, refusals=tally.refusals)


def replay_events(
    events: QuerySet[Event] | Iterable[str],
    *,
    actor: str,
    note: str = "",
    selection: str = "",
    endpoint_ids: Collection[int] | None = None,
    missed_only: bool = False,
    rate_per_second: float | None = None,
) -> Operation:
    """Send events again to everybody who subscribes to them now, or only to `endpoint_ids`.

    An endpoint that has a delivery of the event gets it once more (see `replay`), unless `missed_only`; one that has
    none, because it was created or subscribed later, gets its first. Events go out oldest first.
    """
    ids = _event_ids(events)
    selection = selection or f"{len(ids)} event{'' if len(ids) == 1 else 's'} by id."
    operation = _begin(actor, note, selection, rate_per_second)
    tally = _Tally()
    for page in operations.pages(ids, EVENTS_PER_PAGE):
        with transaction.atomic():
            tally.add(operation, *_replay_page(operation, page, endpoint_ids, missed_only))
    return operations.finish(operation, held=tally.held, refusals=tally.refusals)


def preview_replay_events(
    events: QuerySet[Event] | Iterable[str],
    *,
    endpoint_ids: Collection[int] | None = None,
    missed_only: bool = False,
) -> ReplayPreview:
    """What `replay_events` would do now, without doing it."""
    preview = ReplayPreview()
    for page in operations.pages(_event_ids(events), EVENTS_PER_PAGE):
        missed, held = rows.count_missed(_events(page), endpoint_ids)
        preview.missed += missed
        preview.held += held
        if missed_only:
            continue
        for status, state in _deliveries_of(page, endpoint_ids).values_list("status", "endpoint__state"):
            if status == Status.DELIVERED and state != State.ARCHIVED:
                preview.ready += 1
                preview.held += state != State.ACTIVE
            else:
                preview.refusals[_LEFT_ALONE[Status(status)]] += 1
    return preview


@dataclass(slots=True)
class _Tally:
    held: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, operation: Operation, moved: Sequence[Replayed], asked: Collection[int]) -> None:
        """Count a page into the operation and ring for it. `asked` are the deliveries that could have moved."""
        left = set(asked) - {row.delivery_id for row in moved}
        operations.add(operation, moved=len(moved), refused=len(left))
        operations.ramp_on_commit(Counter(row.endpoint_id for row in moved))
        operations.ring_on_commit({row.endpoint_id for row in moved if row.endpoint_state == State.ACTIVE})
        self.held += sum(row.endpoint_state != State.ACTIVE for row in moved)
        statuses = Delivery.objects.filter(pk__in=left).values_list("status", flat=True)
        reasons = Counter(_LEFT_ALONE[Status(status)] for status in statuses)
        self.refusals += reasons
        if missing := len(left) - reasons.total():
            self.refusals["that do not exist"] += missing


def _begin(actor: str, note: str, selection: str, rate_per_second: float | None) -> Operation:
    return operations.begin(
        Operation.Kind.REPLAY, actor=actor, note=note, selection=selection, rate_per_second=rate_per_second
    )


def _replay_page(
    operation: Operation, event_ids: Sequence[str], endpoint_ids: Collection[int] | None, missed_only: bool
) -> tuple[list[Replayed], list[int]]:
    pace = operations.pace(operation)
    missed = rows.deliver_missed(_events(event_ids), endpoint_ids, operation.pk, pace)
    if missed_only:
        return missed, []
    known = _deliveries_of(event_ids, endpoint_ids).exclude(pk__in=[row.delivery_id for row in missed])
    ids = list(known.values_list("pk", flat=True))
    later = Pace(pace.start_seconds + len(missed) * pace.step_seconds, pace.step_seconds)
    return missed + rows.replay(ids, operation.pk, later), ids


def _deliveries_of(event_ids: Sequence[str], endpoint_ids: Collection[int] | None) -> QuerySet[Delivery]:
    found = Delivery.objects.filter(event_id__in=event_ids).order_by()
    return found if endpoint_ids is None else found.filter(endpoint_id__in=endpoint_ids)


def _events(ids: Sequence[str]) -> list[Event]:
    return list(Event.objects.filter(pk__in=ids).order_by("sequence").only("id", "type", "tenant"))


def _event_ids(events: QuerySet[Event] | Iterable[str]) -> list[str]:
    given = events.values_list("pk", flat=True) if isinstance(events, QuerySet) else events
    return list(Event.objects.filter(pk__in=list(given)).order_by("sequence").values_list("pk", flat=True))
