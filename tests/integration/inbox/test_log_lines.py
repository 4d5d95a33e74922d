"""Every line of the inbox is said with all its facts, once what it says is committed, and never holds a key."""

import logging
from datetime import timedelta
from random import Random

import pytest
from django.db import transaction
from django.utils import timezone

from endpoints.signing import new_secret
from inbox import DataIntegrity, Result, lines
from inbox.models import DeadLetter, ReceivedEvent
from inbox.prune import prune
from inbox.redrive import discard, redrive
from inbox.rotation import revoke, rotate
from inbox.transitions.claim import claim
from inbox.transitions.lapse import lapse
from journal.json_lines import JsonLines
from tests.integration.lines import facts_said, levels, lines_of, said

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def heard(caplog):
    caplog.set_level(logging.INFO)
    return caplog


@pytest.fixture
def play(sender, handles, work, django_capture_on_commit_callbacks):
    """A day of a shop: events that are processed, stale, tried again and given up, strangers, and an operator."""

    def run():
        @handles(sender, "order.*")
        def handle(event):
            return Result.STALE if event.data["data"] == "old" else None

        @handles(sender, "broken")
        def fail(event):
            raise DataIntegrity("There is no such order at https://shop.example/orders/PATHSECRET.")

        @handles(sender, "away")
        def wait(event):
            raise ConnectionError("away")

        with django_capture_on_commit_callbacks(execute=True):
            sender.post("PAYLOAD", id="msg_new")
            sender.post("old", id="msg_old")
            sender.post(type="broken", id="msg_broken")
            sender.post(type="away", id="msg_away")
            sender.post_bytes(b"no json", id="msg_poison")
            sender.post_bytes(b"{}", id="msg_new")
            sender.post_bytes(b"{}", id="msg_forged", secret=new_secret())
            sender.client.post("/inbox/nobody/", data=b"{}", content_type="application/json")
            work(sender)
            redrive([DeadLetter.objects.get(event__event_id="msg_broken").pk], actor="anna")
            discard([DeadLetter.objects.get(event__event_id="msg_poison").pk], actor="anna", note="Theirs.")
            claim(sender.source.pk, lambda slug: -1.0)
            lapse(10, Random(1))
            rotate(sender.source, new_secret(), actor="anna")
            revoke(sender.source.secrets.order_by("pk")[0], actor="anna")
            ReceivedEvent.objects.update(received_at=timezone.now() - timedelta(days=31))
            prune(now=timezone.now(), pause=lambda _: None)

    return run


def test_every_line_is_said_with_every_fact_that_it_declares_and_no_other(play, heard):
    play()

    assert {line.event: facts_said(heard, line) for line in lines_of(lines)} == {
        line.event: set(line.facts) for line in lines_of(lines)
    }


def test_an_attempt_says_how_it_ended(play, heard):
    play()

    ended = {each["event_id"]: each["result"] for each in said(heard, lines.ATTEMPT_MADE)}
    assert ended == {"msg_new": "processed", "msg_old": "stale", "msg_broken": "dead_letter", "msg_away": "retry"}
    assert sorted(levels(heard, lines.ATTEMPT_MADE)) == ["ERROR", "INFO", "INFO", "WARNING"]


def test_a_refusal_names_the_keys_that_were_tried_by_their_fingerprints_and_no_stranger(play, sender, heard):
    key = sender.source.secrets.get().fingerprint

    play()

    forged, unknown = said(heard, lines.REQUEST_REFUSED)
    assert (forged["refusal"], forged["status_code"], forged["key_fingerprints"]) == ("bad-signature", 401, [key])
    assert (unknown["refusal"], unknown["status_code"], unknown.get("source")) == ("unknown-source", 404, None)
    assert levels(heard, lines.REQUEST_REFUSED) == ["WARNING", "INFO"]


def test_another_body_under_a_known_id_stands_out(play, heard):
    play()

    received = zip(said(heard, lines.EVENT_RECEIVED), levels(heard, lines.EVENT_RECEIVED), strict=True)
    assert [level for each, level in received if each["has_other_body"]] == ["WARNING"]


def test_no_line_holds_a_key_a_payload_or_the_path_of_a_url(play, sender, heard):
    secret = sender.secret.removeprefix("whsec_")

    play()

    written = heard.text + "".join(JsonLines().format(record) for record in heard.records)
    for hidden in (secret, "whsec_", "PAYLOAD", "PATHSECRET"):
        assert hidden not in written


def test_a_fault_that_nobody_foresaw_comes_with_its_traceback(sender, handles, work, heard):
    @handles(sender)
    def break_down(event):
        raise KeyError("price")

    sender.post()
    work(sender)

    (record,) = (each for each in heard.records if each.levelname == "ERROR")
    assert record.exc_info[0] is KeyError
    assert record.msg["failure_class"] == "logic"


def test_nothing_is_said_of_a_redrive_that_was_rolled_back(
    sender, handles, work, heard, django_capture_on_commit_callbacks
):
    @handles(sender)
    def fail(event):
        raise DataIntegrity("No.")

    sender.post()
    work(sender)

    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        redrive([DeadLetter.objects.get().pk], actor="anna")
        transaction.set_rollback(True)

    assert not said(heard, lines.REDRIVEN)
