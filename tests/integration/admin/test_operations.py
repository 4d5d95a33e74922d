"""Operations in the admin: bulk redrives are paced, their progress is shown, and they can be stopped."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from deliveries.admin import operations as admin_operations
from deliveries.models import DeadLetter, Delivery, Operation, Resolution
from deliveries.statuses import Status
from tests.factories import make_dead_letter, make_endpoint
from tests.integration.admin.pages import messages_of, page, run_action

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


@pytest.fixture
def paced(monkeypatch):
    """Three dead letters, and two are a handful."""
    monkeypatch.setattr(admin_operations, "AT_ONCE", 2)
    endpoint = make_endpoint()
    return [make_dead_letter(endpoint) for _ in range(3)]


def test_a_bulk_redrive_says_its_pace_and_keeps_it(operator: Client, paced):
    asked = run_action(operator, "redrive_selected", *paced, confirmed=False)
    assert "They go out at 50 a second" in asked.content.decode()

    run_action(operator, "redrive_selected", *paced)

    assert Operation.objects.get().rate_per_second == 50
    due = list(Delivery.objects.order_by("pk").values_list("next_attempt_at", flat=True))
    assert due[0] < due[1] < due[2]


def test_a_handful_goes_out_at_once(operator: Client, paced):
    run_action(operator, "redrive_selected", *paced[:2])

    assert Operation.objects.get().rate_per_second is None


def test_the_page_shows_the_progress_and_the_button_stops_it(operator: Client, paced):
    run_action(operator, "redrive_selected", *paced)
    operation = Operation.objects.get()
    assert "3 of 3 not sent yet" in page(operator, operation)

    response = run_action(operator, "stop_selected", operation)

    assert f"Operation {operation.pk}: 3 called back." in messages_of(response)
    assert DeadLetter.objects.filter(resolution=Resolution.OPEN).count() == 3
    assert Delivery.objects.filter(status=Status.DEAD).count() == 3
    assert LogEntry.objects.filter(object_id=str(operation.pk), change_message__contains="Stopped").exists()
    assert "3 called back" in page(operator, operation)


def test_a_finished_operation_cannot_be_stopped(operator: Client, paced):
    run_action(operator, "redrive_selected", *paced)
    operation = Operation.objects.get()
    run_action(operator, "stop_selected", operation)

    response = run_action(operator, "stop_selected", operation)

    assert "nothing left to call back" in " ".join(messages_of(response))


def test_a_redrive_of_an_ordered_endpoint_says_what_it_does_to_the_order(operator: Client):
    letter = make_dead_letter(make_endpoint(ordered=True))

    asked = run_action(operator, "redrive_selected", letter, confirmed=False)

    assert "The order is kept" in asked.content.decode()


def test_stopping_needs_its_own_permission(signed_in, operator: Client, paced):
    run_action(operator, "redrive_selected", *paced)
    viewer = signed_in()

    assert "stop_selected" not in viewer.get(reverse("admin:deliveries_operation_changelist")).content.decode()
    run_action(viewer, "stop_selected", Operation.objects.get())
    assert Delivery.objects.filter(status=Status.PENDING).count() == 3

    run_action(signed_in("deliveries.stop_operation"), "stop_selected", Operation.objects.get())
    assert not Delivery.objects.filter(status=Status.PENDING).exists()
