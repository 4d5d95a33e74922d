"""The log is looked at, never written by hand: not even by somebody who may do everything."""

import pytest
from django.test import Client
from django.urls import reverse

from deliveries.models import Attempt, DeadLetter, Delivery, Event, Notice, Operation
from deliveries.redrive import redrive
from endpoints.availability import disable, pause
from endpoints.models import RetryPolicy, StateChange
from tests.factories import make_dead_letter, make_endpoint
from tests.integration.admin.pages import address

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LOGS = (Attempt, DeadLetter, Delivery, Notice, Operation, StateChange)


@pytest.fixture
def one_of_each() -> None:
    endpoint = make_endpoint()
    redrive([make_dead_letter(endpoint).pk], actor="anna")
    pause(endpoint, actor="anna", reason="migration")
    disable(endpoint, actor="anna", reason="broken")


@pytest.mark.parametrize("model", LOGS)
def test_nobody_adds_a_row_to_the_log(operator: Client, model):
    answer = operator.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add"))

    assert answer.status_code == 403


@pytest.mark.parametrize("model", [*LOGS, Event])
@pytest.mark.usefixtures("one_of_each")
def test_nobody_changes_or_deletes_what_was_recorded(operator: Client, model):
    row = model.objects.all()[0]

    assert operator.get(address(row)).status_code == 200
    assert operator.post(address(row), {"reason": "x"}).status_code == 403
    assert operator.post(address(row).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert model.objects.filter(pk=row.pk).exists()


@pytest.mark.parametrize("model", [*LOGS, Event])
@pytest.mark.usefixtures("one_of_each")
def test_no_list_offers_to_delete_in_bulk(operator: Client, model):
    text = operator.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")).content.decode()

    assert "delete_selected" not in text


def test_the_policy_that_endpoints_fall_back_to_is_neither_deleted_nor_renamed(operator: Client):
    policy = RetryPolicy.default()

    assert operator.post(address(policy).replace("/change/", "/delete/"), {"post": "yes"}).status_code == 403
    assert 'name="name"' not in operator.get(address(policy)).content.decode()
    other = RetryPolicy.objects.exclude(pk=policy.pk)[0]
    assert 'name="name"' in operator.get(address(other)).content.decode()


def test_a_retry_policy_that_makes_no_sense_is_refused_field_by_field(operator: Client):
    fields = {
        "name": "x",
        "kind": "exponential",
        "max_attempts": "0",
        "deadline_seconds": "60",
        "base_seconds": "30",
        "cap_seconds": "10",
        "jitter": "0",
    }

    answer = operator.post(reverse("admin:endpoints_retrypolicy_add"), fields)

    assert set(answer.context["adminform"].form.errors) >= {"max_attempts", "cap_seconds"}
