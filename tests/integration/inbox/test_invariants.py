"""Invariants live in the tables: every constraint refuses the row it is there for, whoever writes it."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, transaction
from django.utils import timezone

from inbox.models import (
    DeadLetter,
    FetchedObject,
    Operation,
    ReceivedEvent,
    RefusalCount,
    RefusalTotal,
    Source,
    SourceSecret,
    SourceTally,
)

pytestmark = pytest.mark.django_db

NOW = timezone.now()
LEASE = {"lease_token": uuid4(), "lease_expires_at": NOW}

ILLEGAL = [
    ("source_has_a_slug", Source, {"slug": ""}),
    ("source_concurrency_is_1_to_100", Source, {"concurrency": 0}),
    ("source_tolerance_is_1_s_to_1_day", Source, {"tolerance_seconds": 86_401}),
    ("source_body_cap_is_usable", Source, {"body_cap_bytes": 0}),
    ("source_unhandled_is_known", Source, {"unhandled": "forget"}),
    ("source_secret_expires_after_creation", SourceSecret, {"expires_at": NOW - timedelta(days=1)}),
    ("received_event_has_an_id", ReceivedEvent, {"event_id": ""}),
    ("received_event_due_if_and_only_if_received", ReceivedEvent, {"next_attempt_at": None}),
    ("received_event_leased_if_and_only_if_processing", ReceivedEvent, LEASE),
    ("received_event_finished_if_and_only_if_final", ReceivedEvent, {"finished_at": NOW}),
    ("received_event_keeps_its_body_until_final", ReceivedEvent, {"body": None}),
    ("received_event_budget_starts_within_its_attempts", ReceivedEvent, {"budget_offset": 1}),
    ("received_event_conflicts_are_duplicates", ReceivedEvent, {"conflicts": 1}),
    ("inbox_dead_letter_resolution_is_known", DeadLetter, {"resolution": "lost"}),
    ("inbox_dead_letter_resolved_by_an_operation_or_open", DeadLetter, {"resolved_at": NOW}),
    ("inbox_dead_letter_class_is_known", DeadLetter, {"failure_class": "lost"}),
    ("inbox_dead_letter_says_why", DeadLetter, {"reason": ""}),
    ("inbox_operation_kind_is_known", Operation, {"kind": "lost"}),
    ("inbox_operation_names_its_actor", Operation, {"actor": ""}),
    ("inbox_operation_discard_has_a_note", Operation, {"kind": "discard"}),
    ("refusal_says_why", RefusalCount, {"reason": ""}),
]
REPEATED = [
    ("source_secret_once_per_source", SourceSecret),
    ("received_event_once_per_source_and_id", ReceivedEvent),
    ("inbox_dead_letter_open_once_per_event", DeadLetter),
    ("refusal_counted_once_per_source_day_reason_and_keys", RefusalCount),
    ("refusal_total_once_per_source_and_reason", RefusalTotal),
    ("source_tally_once_per_minute_and_slot", SourceTally),
    ("fetched_object_once_per_source_and_key", FetchedObject),
]


@pytest.fixture
def legal(sender):
    """One legal row of each kind."""
    sender.post_bytes(b"{not json", id="dead")
    sender.post(id="waiting")
    # Counted without a source: nulls are equal here.
    RefusalCount.objects.create(day=NOW.date(), reason="unknown-source", count=1, last_at=NOW)
    RefusalTotal.objects.create(reason="unknown-source", count=1)
    SourceTally.objects.update(starts_at=None)
    FetchedObject.objects.create(source=sender.source, key="1", fetched_at=NOW)
    Operation.objects.create(kind="redrive", actor="a test")
    return lambda model: model.objects.exclude(status="dead") if model is ReceivedEvent else model.objects.all()


@pytest.mark.parametrize(("constraint", "model", "change"), ILLEGAL)
def test_an_illegal_row_is_refused_by_the_constraint_of_its_name(legal, constraint, model, change):
    names = constraint.replace("resolution_is_known", "resol(ution_is_known|ved_by_an_operation_or_open)")

    with pytest.raises(IntegrityError, match=f'"{names}"'), transaction.atomic():
        legal(model).update(**change)


@pytest.mark.parametrize(("constraint", "model"), REPEATED)
def test_a_second_row_of_the_kind_is_refused_by_its_name(legal, constraint, model):
    row = legal(model).get()
    row.pk = None
    row._state.adding = True

    with pytest.raises(IntegrityError, match=f'"{constraint}"'), transaction.atomic():
        model.objects.bulk_create([row])


def test_an_unknown_status_is_refused_by_more_than_one_rule(legal):
    with pytest.raises(IntegrityError, match='"received_event_'), transaction.atomic():
        legal(ReceivedEvent).update(status="lost")


def test_every_constraint_of_the_inbox_is_tried_here():
    declared = {each.name for model in apps.get_app_config("inbox").get_models() for each in model._meta.constraints}

    assert {row[0] for row in ILLEGAL} | {row[0] for row in REPEATED} | {"received_event_status_is_known"} == declared
