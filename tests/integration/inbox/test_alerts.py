"""Operators are told of every dead letter of the inbox, once, in few mails, and without what events say."""

from smtplib import SMTPServerDisconnected

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend

from inbox.alerts import LETTERS_SHOWN, announce
from inbox.models import DeadLetter
from inbox.sweeps import unannounced

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def operators(settings):
    settings.HOLDFAST_INBOX = {"OPERATORS": ["ops@example.com", "night@example.com"]}


def bury(sender, count=1):
    for number in range(count):
        sender.post_bytes(b'{"card": "4242', id=f"msg_{number}")


def waiting():
    return DeadLetter.objects.filter(announced_at=None).count()


def test_each_operator_gets_one_mail_about_all_that_wait_and_none_again(sender):
    bury(sender, LETTERS_SHOWN + 2)

    assert unannounced.sweep().announced == LETTERS_SHOWN + 2
    assert unannounced.sweep().announced == 0

    assert [each.to for each in mail.outbox] == [["ops@example.com"], ["night@example.com"]]
    assert mail.outbox[0].subject == f"[Holdfast] {LETTERS_SHOWN + 2} dead letters of the inbox: poison"
    assert "… and 2 more." in mail.outbox[0].body


def test_a_mail_names_source_type_and_class_and_nothing_of_the_event(sender):
    bury(sender)

    announce()

    assert f"no type from {sender.source.slug}: poison" in mail.outbox[0].body
    assert "4242" not in mail.outbox[0].body
    assert "msg_0" not in mail.outbox[0].body


def test_a_mail_that_nobody_took_is_sent_again(sender, monkeypatch):
    def refuse(self, messages):
        raise SMTPServerDisconnected

    bury(sender)
    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", refuse)
        assert (announce(), waiting()) == (0, 1)

    assert (announce(), waiting()) == (1, 0)


def test_a_mail_that_one_of_them_took_is_not_repeated(sender, monkeypatch):
    real = EmailBackend.send_messages

    def refuse_one(self, messages):
        if messages[0].to == ["ops@example.com"]:
            raise SMTPServerDisconnected
        return real(self, messages)

    bury(sender)
    monkeypatch.setattr(EmailBackend, "send_messages", refuse_one)

    assert (announce(), len(mail.outbox), waiting()) == (1, 1, 0)


def test_without_operators_nothing_waits_for_them(sender, settings):
    settings.HOLDFAST_INBOX = {}
    bury(sender)

    assert (announce(), waiting(), len(mail.outbox)) == (1, 0, 0)
