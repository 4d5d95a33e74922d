"""Pause, enable, disable and archive from the admin: with a permission, with a reason, on the record."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from console.tables import shown_count
from endpoints.availability import pause
from endpoints.models import Endpoint, State, StateChange
from tests.factories import make_dead_letter, make_endpoint, make_event
from tests.integration.admin.pages import messages_of, page, run_action

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

PERMISSION = "endpoints.change_endpoint_state"


def test_a_reason_is_asked_for_first_and_kept_afterwards(signed_in):
    client, endpoint = signed_in(PERMISSION, name="vic"), make_endpoint()

    asked = run_action(client, "pause", endpoint, confirmed=False)
    assert "Nothing is sent until somebody enables them again" in asked.content.decode()
    assert Endpoint.objects.get().state == State.ACTIVE

    answer = run_action(client, "pause", endpoint, note="They migrate tonight.")

    change = StateChange.objects.get()
    assert (change.to_state, change.actor, change.reason) == (State.PAUSED, "vic", "They migrate tonight.")
    assert messages_of(answer) == ["1 endpoint paused."]
    assert "They migrate tonight." in LogEntry.objects.get().change_message
    assert "paused" in page(client, endpoint)
    assert "They migrate tonight." in page(client, endpoint)


@pytest.mark.parametrize("note", ["", "   "])
def test_without_a_reason_nothing_happens(signed_in, note: str):
    endpoint = make_endpoint()

    answer = run_action(signed_in(PERMISSION), "disable", endpoint, note=note)

    assert "Say why in a few words" in answer.content.decode()
    assert Endpoint.objects.get().state == State.ACTIVE


@pytest.mark.parametrize("action", ["pause", "enable", "disable", "archive"])
def test_without_the_permission_the_action_is_neither_offered_nor_done(signed_in, action: str):
    client, endpoint = signed_in("endpoints.change_endpoint"), make_endpoint()

    run_action(client, action, endpoint, note="because")

    assert f'value="{action}"' not in page(client, endpoint)
    assert not StateChange.objects.exists()


def test_a_page_offers_only_the_moves_its_state_allows(signed_in):
    client, endpoint = signed_in(PERMISSION), make_endpoint()
    actions = ("pause", "enable", "disable", "archive")

    def offered() -> list[str]:
        text = page(client, endpoint)
        return [action for action in actions if f'value="{action}"' in text]

    assert offered() == ["pause", "disable", "archive"]
    pause(endpoint, actor="anna", reason="x")
    assert offered() == ["enable", "disable", "archive"]
    run_action(client, "archive", endpoint, note="closed")
    assert offered() == []


def test_of_several_endpoints_those_that_cannot_move_are_named(signed_in):
    moving, paused = make_endpoint(), make_endpoint()
    pause(paused, actor="anna", reason="x")

    answer = run_action(signed_in(PERMISSION), "pause", moving, paused, note="storm")

    said = messages_of(answer)
    assert f"Endpoint {paused.pk} is paused; only one that is active can be paused." in said
    assert "1 endpoint paused." in said


def test_the_page_says_how_much_waits_and_how_much_was_lost(operator: Client):
    endpoint = make_endpoint()
    make_dead_letter(endpoint)
    for _ in range(3):
        make_event()

    text = page(operator, endpoint)

    assert f'?endpoint={endpoint.pk}&amp;status=pending">3</a>' in text
    assert f'?endpoint={endpoint.pk}">1</a>' in text


def test_counts_on_a_page_stop_at_their_cap():
    for _ in range(4):
        make_endpoint()

    assert [shown_count(Endpoint.objects.all(), cap) for cap in (3, 4)] == ["3+", "4"]
