"""Invariants live in the tables: every constraint refuses the row it is there for, whoever writes it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from deliveries.models import (
    Attempt,
    DeadLetter,
    Delivery,
    EndpointHealth,
    EndpointSpan,
    Event,
    Notice,
    Operation,
    TrafficTotal,
)
from deliveries.statuses import Status
from deliveries.transitions.close import close_minutes
from endpoints.models import Endpoint, RetryPolicy, SigningSecret
from endpoints.rotation import rotate
from tests.factories import make_dead_letter, make_delivered, make_endpoint, make_event

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

NOW = timezone.now()

# The states of a delivery as columns; each illegal row below is one of these with one column too many or too few.
PENDING = {
    "status": "pending",
    "next_attempt_at": NOW,
    "lease_token": None,
    "lease_expires_at": None,
    "finished_at": None,
}
SENDING = PENDING | {
    "status": "sending",
    "next_attempt_at": None,
    "lease_token": uuid4(),
    "lease_expires_at": NOW,
    "attempt_count": 1,
}
DELIVERED = PENDING | {"status": "delivered", "next_attempt_at": None, "finished_at": NOW}
DEAD = DELIVERED | {"status": "dead"}
LEASE = {"lease_token": uuid4(), "lease_expires_at": NOW}


def delivery() -> models.QuerySet:
    make_endpoint()
    return Delivery.objects.filter(event=make_event())


def attempt() -> models.QuerySet:
    return make_delivered().attempts.all()


def letter() -> models.QuerySet:
    return DeadLetter.objects.filter(pk=make_dead_letter().pk)


def event() -> models.QuerySet:
    return Event.objects.filter(pk=make_event().pk)


def secret_change() -> models.QuerySet:
    endpoint = make_endpoint()
    rotate(endpoint, actor="a test")
    return endpoint.secret_changes.all()


def operation() -> models.QuerySet:
    made = Operation.objects.create(kind="redrive", actor="a test")
    return Operation.objects.filter(pk=made.pk)


def span() -> models.QuerySet:
    return EndpointSpan.objects.filter(endpoint=make_delivered().endpoint)


def total() -> models.QuerySet:
    close_minutes()
    return TrafficTotal.objects.all()


def endpoint() -> models.QuerySet:
    return Endpoint.objects.filter(pk=make_endpoint().pk)


def health() -> models.QuerySet:
    EndpointHealth.objects.create(endpoint=make_endpoint(), since=NOW, judged_at=NOW)
    return EndpointHealth.objects.all()


def notice() -> models.QuerySet:
    made = Notice.objects.create(kind="endpoint.warning", subject="endpoint.warning:1", title="Title", text="Text")
    return Notice.objects.filter(pk=made.pk)


def policy() -> models.QuerySet:
    return RetryPolicy.objects.filter(name="default")


def secret() -> models.QuerySet:
    return SigningSecret.objects.filter(endpoint=make_endpoint())


# (constraint, a legal row, what makes it illegal)
ILLEGAL: list[tuple[str, Callable[[], models.QuerySet], dict[str, Any]]] = [
    ("delivery_due_if_and_only_if_pending", delivery, {"next_attempt_at": None}),
    ("delivery_due_if_and_only_if_pending", delivery, SENDING | {"next_attempt_at": NOW}),
    ("delivery_due_if_and_only_if_pending", delivery, DELIVERED | {"next_attempt_at": NOW}),
    ("delivery_leased_if_and_only_if_sending", delivery, SENDING | {"lease_token": None}),
    ("delivery_leased_if_and_only_if_sending", delivery, SENDING | {"lease_expires_at": None}),
    ("delivery_leased_if_and_only_if_sending", delivery, PENDING | LEASE),
    ("delivery_leased_if_and_only_if_sending", delivery, DEAD | LEASE),
    ("delivery_finished_if_and_only_if_final", delivery, DELIVERED | {"finished_at": None}),
    ("delivery_finished_if_and_only_if_final", delivery, DEAD | {"finished_at": None}),
    ("delivery_finished_if_and_only_if_final", delivery, PENDING | {"finished_at": NOW}),
    ("delivery_finished_if_and_only_if_final", delivery, SENDING | {"finished_at": NOW}),
    ("delivery_budget_starts_within_its_attempts", delivery, {"budget_offset": 1}),
    ("attempt_numbers_count_from_one", attempt, {"number": 0}),
    ("attempt_outcome_is_known", attempt, {"outcome": "fine"}),
    ("dead_letter_resolution_is_known", letter, {"resolution": "lost"}),
    ("dead_letter_resolved_by_an_operation_or_open", letter, {"resolution": "redriven", "resolved_at": NOW}),
    ("dead_letter_resolved_by_an_operation_or_open", letter, {"resolved_at": NOW}),
    ("dead_letter_says_why", letter, {"reason": ""}),
    ("dead_letter_says_why", letter, {"failure_class": ""}),
    ("event_has_an_id", event, {"id": ""}),
    ("event_body_is_rendered", event, {"body": ""}),
    ("operation_kind_is_known", operation, {"kind": "delete"}),
    ("operation_names_its_actor", operation, {"actor": ""}),
    ("operation_discard_has_a_note", operation, {"kind": "discard", "note": ""}),
    ("operation_rate_is_positive", operation, {"rate_per_second": 0}),
    ("operation_rate_is_positive", operation, {"rate_per_second": 10_001}),
    ("operation_stopped_by_somebody_or_not_at_all", operation, {"stopped_at": NOW}),
    ("operation_stopped_by_somebody_or_not_at_all", operation, {"stopped_by": "somebody"}),
    ("endpoint_span_is_a_minute_or_an_hour", span, {"minutes": 5}),
    ("endpoint_span_delivers_at_most_its_attempts", span, {"delivered": 2}),
    ("traffic_total_is_one_row", total, {"id": 2}),
    ("endpoint_state_is_known", endpoint, {"state": "asleep"}),
    ("endpoint_url_is_not_empty", endpoint, {"url": ""}),
    ("endpoint_subscribes_to_something", endpoint, {"event_types": []}),
    ("endpoint_rate_limit_is_positive", endpoint, {"rate_limit_per_second": 0}),
    ("endpoint_rate_limit_is_positive", endpoint, {"rate_limit_per_second": 10_001}),
    ("endpoint_concurrency_is_1_to_100", endpoint, {"max_concurrency": 0}),
    ("endpoint_concurrency_is_1_to_100", endpoint, {"max_concurrency": 101}),
    ("endpoint_timeout_is_1_to_30_s", endpoint, {"timeout_seconds": 0}),
    ("endpoint_timeout_is_1_to_30_s", endpoint, {"timeout_seconds": 31}),
    ("endpoint_health_level_is_known", health, {"level": "tired"}),
    ("endpoint_health_score_is_0_to_100", health, {"score": 101}),
    ("notice_kind_is_known", notice, {"kind": "gossip"}),
    ("notice_says_something", notice, {"title": ""}),
    ("notice_says_something", notice, {"text": ""}),
    ("retry_policy_kind_is_known", policy, {"kind": "sometimes"}),
    ("retry_policy_allows_1_to_100_attempts", policy, {"max_attempts": 0}),
    ("retry_policy_allows_1_to_100_attempts", policy, {"max_attempts": 101}),
    ("retry_policy_cap_is_not_below_base", policy, {"base_seconds": 60, "cap_seconds": 59}),
    ("retry_policy_jitter_is_a_share", policy, {"jitter": 1.1}),
    ("retry_policy_deadline_is_positive", policy, {"deadline_seconds": 0}),
    ("retry_policy_timeout_is_1_to_30_s", policy, {"timeout_seconds": 31}),
    ("secret_change_act_is_known", secret_change, {"act": "lost"}),
    ("secret_change_says_who_and_why", secret_change, {"reason": ""}),
    ("signing_secret_expires_after_creation", secret, {"expires_at": NOW - timedelta(days=1)}),
]

# Unique constraints: a row to write a second time.
REPEATED: list[tuple[str, Callable[[], models.QuerySet]]] = [
    ("delivery_once_per_event_and_endpoint", delivery),
    ("attempt_once_per_delivery_and_number", attempt),
    ("dead_letter_open_once_per_delivery", letter),
    ("signing_secret_once_per_endpoint", secret),
    ("endpoint_span_once", span),
    ("notice_stands_once_per_subject", notice),
]


@pytest.mark.parametrize(("constraint", "legal", "change"), ILLEGAL)
def test_a_row_that_breaks_the_rule_is_refused_by_its_name(constraint, legal, change):
    rows = legal()
    assert rows.count() == 1

    with pytest.raises(IntegrityError, match=f'"{constraint}"'), transaction.atomic():
        rows.update(**change)


@pytest.mark.parametrize(("constraint", "legal"), REPEATED)
def test_a_second_row_of_the_kind_is_refused_by_its_name(constraint, legal):
    row = legal().get()
    row.pk = None
    row._state.adding = True

    with pytest.raises(IntegrityError, match=f'"{constraint}"'), transaction.atomic():
        row.__class__.objects.bulk_create([row])


def test_an_unknown_status_is_refused_by_more_than_one_rule():
    with pytest.raises(IntegrityError, match=r"delivery_(status_is_known|finished_if_and_only_if_final)"):
        delivery().update(**DELIVERED | {"status": "lost"})


def test_two_events_cannot_share_a_sequence_number():
    one, other = make_event(), make_event()

    with pytest.raises(IntegrityError, match='"event_sequence_is_unique"'), transaction.atomic():
        Event.objects.filter(pk=one.pk).update(sequence=other.sequence)


@pytest.mark.parametrize("legal", [PENDING, SENDING, DELIVERED, DEAD], ids=lambda columns: columns["status"])
def test_a_whole_state_is_a_legal_row(legal):
    assert delivery().update(**legal) == 1


def test_a_resolved_dead_letter_makes_room_for_the_next_one():
    first = make_dead_letter()
    done = Operation.objects.create(kind="redrive", actor="a test")
    DeadLetter.objects.filter(pk=first.pk).update(resolution="redriven", resolved_at=NOW, operation=done)

    first.pk, first.resolution = None, "open"
    DeadLetter.objects.bulk_create([first])

    assert DeadLetter.objects.filter(delivery=first.delivery_id).count() == 2


def test_every_constraint_of_these_apps_is_tried_here():
    declared = {
        constraint.name
        for app in ("deliveries", "endpoints")
        for model in apps.get_app_config(app).get_models()
        for constraint in model._meta.constraints
    }

    tried = {row[0] for row in ILLEGAL} | {row[0] for row in REPEATED}
    assert tried | {"delivery_status_is_known", "event_sequence_is_unique"} == declared


def test_every_state_of_a_delivery_is_one_that_the_table_knows():
    assert {columns["status"] for columns in (PENDING, SENDING, DELIVERED, DEAD)} == set(Status)
    assert Attempt._meta.get_field("outcome").choices
