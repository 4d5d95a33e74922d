"""Alerts: every dead letter is logged and mailed once, and no secret travels with it."""

import smtplib

import pytest
from django.core import mail
from django.core.mail import EmailMessage

from deliveries import alerts
from deliveries.models import DeadLetter
from tests.factories import make_dead_letter, make_endpoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


@pytest.fixture(autouse=True)
def operators(settings):
    settings.HOLDFAST = {"OPERATORS": ["ops@example.org"]}


def refuse(monkeypatch, *recipients, error):
    send = EmailMessage.send

    def refusing(self, *args, **kwargs):
        if set(self.to) & set(recipients):
            raise error
        return send(self, *args, **kwargs)

    monkeypatch.setattr(EmailMessage, "send", refusing)


def letters_of(owner: str, tenant: str, count: int = 1) -> list[DeadLetter]:
    endpoint = make_endpoint(tenant=tenant, owner_email=owner)
    return [make_dead_letter(endpoint, data={"card": "PAYLOAD"}) for _ in range(count)]


def ids(letters):
    return [letter.pk for letter in letters]


def test_one_mail_a_recipient_and_batch():
    letters = letters_of("a@example.org", "a", 2) + letters_of("b@example.org", "b")

    assert alerts.announce(ids(letters)) == 3

    assert sorted(message.to for message in mail.outbox) == [["a@example.org"], ["b@example.org"], ["ops@example.org"]]
    [operators] = [message for message in mail.outbox if message.to == ["ops@example.org"]]
    assert operators.subject == "[Holdfast] 3 dead letters: rejected"
    assert all(f"#{letter.pk} " in operators.body for letter in letters)


def test_a_second_consumer_of_the_same_message_mails_nobody():
    letters = letters_of("a@example.org", "a")
    alerts.announce(ids(letters))
    mail.outbox.clear()

    assert alerts.announce(ids(letters)) == 0
    assert mail.outbox == []


def test_whoever_comes_first_takes_all_that_wait_so_that_many_messages_are_one_mail():
    letters = letters_of("", "a", 3)

    assert [alerts.announce([letter.pk]) for letter in letters] == [3, 0, 0]
    assert len(mail.outbox) == 1


def test_one_alert_line_a_dead_letter(caplog):
    letters = letters_of("", "a", 2)

    alerts.announce(ids(letters))

    lines = [record for record in caplog.records if record.name == "holdfast.dead_letters"]
    assert [line.msg["dead_letter_id"] for line in lines] == [letter.pk for letter in letters]
    assert {line.msg["event"] for line in lines} == {"dead_letter.announced"}


def test_neither_log_nor_mail_holds_the_path_the_query_or_the_body(caplog):
    alerts.announce(ids(letters_of("a@example.org", "a")))

    said = caplog.text + "".join(f"{message.subject} {message.body}" for message in mail.outbox)
    assert "http://127.0.0.1:9" in said
    for secret in ("SECRET", "token", "/hooks", "PAYLOAD"):
        assert secret not in said


def test_a_mail_server_that_is_away_leaves_them_to_the_sweep(monkeypatch):
    letters = letters_of("", "a")
    refuse(monkeypatch, "ops@example.org", error=ConnectionRefusedError("away"))

    assert alerts.announce(ids(letters)) == 0
    assert DeadLetter.objects.get().announced_at is None
    monkeypatch.undo()
    assert alerts.announce(ids(letters)) == 1
    assert [message.to for message in mail.outbox] == [["ops@example.org"]]


def test_an_owner_who_cannot_be_mailed_now_is_repeated_without_mailing_the_operators_twice(monkeypatch):
    mine, others = letters_of("a@example.org", "a"), letters_of("b@example.org", "b")
    refuse(monkeypatch, "a@example.org", error=smtplib.SMTPServerDisconnected("gone"))

    assert alerts.announce(ids(mine + others)) == 1

    [operators] = [message for message in mail.outbox if message.to == ["ops@example.org"]]
    assert f"#{others[0].pk} " in operators.body
    assert f"#{mine[0].pk} " not in operators.body
    assert DeadLetter.objects.get(pk=mine[0].pk).announced_at is None


@pytest.mark.parametrize(("code", "told"), [(550, True), (450, False)])
def test_a_mailbox_that_does_not_exist_is_not_tried_for_ever(monkeypatch, code, told):
    letters = letters_of("a@example.org", "a")
    refuse(monkeypatch, "a@example.org", error=smtplib.SMTPRecipientsRefused({"a@example.org": (code, b"no")}))

    alerts.announce(ids(letters))

    assert (DeadLetter.objects.get().announced_at is not None) is told


def test_a_long_batch_is_listed_in_part_and_counted_in_full(monkeypatch):
    monkeypatch.setattr("deliveries.letters.LETTERS_SHOWN", 1)

    alerts.announce(ids(letters_of("", "a", 3)))

    assert "3 webhook deliveries" in mail.outbox[0].body
    assert "… and 2 more." in mail.outbox[0].body
