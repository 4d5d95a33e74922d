"""Dead letters in the admin: the whole story on one page, and two ways out that say what they did."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from deliveries.models import DeadLetter, Operation, Resolution
from deliveries.outcomes import Kind
from deliveries.redrive import discard
from endpoints.availability import pause
from tests.factories import make_dead_letter, make_endpoint
from tests.integration.admin.pages import messages_of, page, run_action

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

LIST = "admin:deliveries_deadletter_changelist"
REDRIVE, DISCARD = "deliveries.redrive_deadletter", "deliveries.discard_deadletter"


def _letters(count: int) -> list[DeadLetter]:
    return [make_dead_letter(make_endpoint(tenant=f"tenant-{number}")) for number in range(count)]


def _listed(client: Client, query: str = "") -> set[int]:
    return {row.pk for row in client.get(f"{reverse(LIST)}?{query}").context["cl"].result_list}


def test_the_list_starts_with_what_is_open(operator: Client):
    waiting, gone = _letters(2)
    discard([gone.pk], actor="anna", note="test data")

    assert _listed(operator) == {waiting.pk}
    assert _listed(operator, "resolution=discarded") == {gone.pk}
    assert _listed(operator, "resolution=all") == {waiting.pk, gone.pk}


def test_the_list_is_narrowed_by_class_endpoint_and_age(operator: Client):
    rejected = make_dead_letter(make_endpoint(tenant="a"))
    old = make_dead_letter(make_endpoint(tenant="b"), kind=Kind.GONE)
    new = make_dead_letter(make_endpoint(tenant="c"), kind=Kind.GONE)
    DeadLetter.objects.filter(pk__lte=old.pk).update(created_at=timezone.now() - timedelta(hours=2))

    assert _listed(operator, "failure_class=gone") == {old.pk, new.pk}
    assert _listed(operator, f"endpoint={rejected.endpoint_id}") == {rejected.pk}
    assert _listed(operator, "age=hour") == {new.pk}
    assert _listed(operator, "age=day") == {rejected.pk, old.pk, new.pk}
    assert _listed(operator, f"q={new.delivery.event_id}") == {new.pk}
    assert _listed(operator, f"q=%23{new.pk}") >= {new.pk}


def test_the_page_tells_the_whole_story(operator: Client):
    letter = make_dead_letter(data={"n": 12345678901234567890123})

    text = page(operator, letter)

    for part in (letter.url, letter.reason, letter.delivery.event_id, "12345678901234567890123", "rejected", "7 ms"):
        assert part in text
    assert letter.body.replace('"', "&quot;") in text


def test_the_path_of_the_url_is_hidden_from_those_who_only_look(signed_in):
    assert "SECRET" not in page(signed_in(), make_dead_letter())


def test_answers_are_shown_only_with_their_permission(signed_in):
    letter = make_dead_letter()
    attempt = letter.delivery.attempts.get()
    type(attempt).objects.update(snippet="the-answer")

    for row in (letter.delivery, attempt):
        assert "the-answer" not in page(signed_in(), row)
        assert "the-answer" in page(signed_in("deliveries.view_answer"), row)


def test_redriving_says_first_what_will_happen_and_then_what_did(signed_in):
    one, two, three = _letters(3)
    pause(three.endpoint, actor="anna", reason="migration")
    client = signed_in(REDRIVE, name="vic")

    asked = run_action(client, "redrive_selected", one, two, three, confirmed=False).content.decode()
    assert "3 dead letters." in asked
    assert f"1 to endpoint #{one.endpoint_id} http://127.0.0.1:9" in asked
    assert f"1 to endpoint #{three.endpoint_id} http://127.0.0.1:9, which is paused" in asked
    assert "1 will wait until their paused or disabled endpoint is enabled." in asked
    assert not Operation.objects.exists()

    answer = run_action(client, "redrive_selected", one, two, three, note="They fixed it.")

    operation = Operation.objects.get()
    assert (operation.actor, operation.note, operation.moved) == ("vic", "They fixed it.", 3)
    assert messages_of(answer)[0].startswith("3 dead letters redriven")
    assert LogEntry.objects.filter(change_message__contains="They fixed it.").count() == 3
    assert set(DeadLetter.objects.values_list("resolution", flat=True)) == {Resolution.REDRIVEN}
    assert str(operation) in page(client, one)


def test_what_somebody_else_resolved_meanwhile_is_counted_and_said(signed_in):
    mine, theirs = _letters(2)
    discard([theirs.pk], actor="anna", note="test data")

    answer = run_action(signed_in(REDRIVE), "redrive_selected", mine, theirs)

    said = messages_of(answer)[0]
    assert said.startswith("1 dead letter redriven")
    assert "Left alone: 1 already discarded" in said


def test_one_that_is_resolved_already_is_refused_in_words(signed_in):
    letter = make_dead_letter()
    discard([letter.pk], actor="anna", note="test data")

    answer = run_action(signed_in(REDRIVE), "redrive_selected", letter)

    assert "already discarded" in messages_of(answer)[0]
    assert Operation.objects.filter(kind="redrive").count() == 0


def test_discarding_needs_a_note(signed_in):
    letter = make_dead_letter()
    client = signed_in(DISCARD)

    refused = run_action(client, "discard_selected", letter, note=" ")
    assert "Say why" in refused.content.decode()
    assert DeadLetter.objects.get().resolution == Resolution.OPEN

    answer = run_action(client, "discard_selected", letter, note="Their test account.")

    letter.refresh_from_db()
    assert letter.resolution == Resolution.DISCARDED
    assert messages_of(answer)[0].startswith("1 dead letter discarded")
    assert LogEntry.objects.get().change_message == "Discarded. Their test account."


@pytest.mark.parametrize(("action", "other"), [("redrive_selected", DISCARD), ("discard_selected", REDRIVE)])
def test_each_action_needs_its_own_permission(signed_in, action: str, other: str):
    letter = make_dead_letter()
    client = signed_in(other)

    run_action(client, action, letter, note="because")

    assert not Operation.objects.exists()
    assert f'value="{action}"' not in page(client, letter)
    assert f'value="{action}"' not in client.get(reverse(LIST)).content.decode()


def test_all_that_match_means_those_that_were_there_when_it_was_asked(operator: Client):
    _letters(2)
    across: dict[str, Any] = {"select_across": "1"}
    asked = run_action(operator, "redrive_selected", DeadLetter.objects.all()[0], confirmed=False, **across)
    newest = asked.context["newest"]
    late = make_dead_letter(make_endpoint(tenant="late"))

    run_action(operator, "redrive_selected", late, newest=newest, **across)

    assert Operation.objects.get().moved == 2
    late.refresh_from_db()
    assert late.resolution == Resolution.OPEN


def test_more_than_the_cap_is_left_to_the_command_line(operator: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("console.confirmation.COUNT_CAP", 1)
    letters = _letters(2)

    answer = run_action(operator, "redrive_selected", *letters)

    assert "work for the command line" in answer.content.decode()
    assert not Operation.objects.exists()
