"""Notices: told on a change only, once, over every channel, never lost, and never in a storm."""

import smtplib
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction

from deliveries.models import DeadLetter, Event, Notice, NoticeKind, Resolution
from deliveries.notices import sending, standing, wording
from deliveries.sweeps import alarms, health, notices
from deliveries.watch.survey import Survey
from endpoints import availability
from endpoints.models import Endpoint
from tests.factories import make_dead_letter, make_endpoint, make_event, make_span

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

NOW = datetime(2026, 6, 10, 12, 30, 20, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


@pytest.fixture(autouse=True)
def operators(settings):
    settings.HOLDFAST = {"OPERATORS": ["ops@example.org"]}


@pytest.fixture
def endpoint():
    return make_endpoint(owner_email="owner@example.org", tenant="shop")


def kinds():
    return [notice.kind for notice in Notice.objects.order_by("pk")]


def later():
    """After whatever was written by the database's clock."""
    return datetime.now(UTC) + SECOND


def refuse(monkeypatch, *recipients, error):
    send = EmailMessage.send

    def refusing(self, *args, **kwargs):
        if set(self.to) & set(recipients):
            raise error
        return send(self, *args, **kwargs)

    monkeypatch.setattr(EmailMessage, "send", refusing)


def draft(number=0, **fields):
    return wording.Draft(NoticeKind.RECOVERED, f"test:{number}", f"Title {number}", f"Text {number}", **fields)


def mails_to(recipient):
    return [message for message in mail.outbox if message.to == [recipient]]


class TestStateChanges:
    def test_a_disabled_endpoints_owner_and_the_operators_hear_why_and_what_to_do(self, endpoint):
        make_dead_letter(endpoint)
        make_event(tenant="shop")
        availability.disable(endpoint, actor="rule: gone", reason="The endpoint answered 410 Gone.")

        assert notices.sweep().sent == 1

        [message] = mails_to("owner@example.org")
        assert message.subject == f"[Holdfast] Endpoint {endpoint.pk} (http://127.0.0.1:9) is disabled"
        for said in (
            "Reason: The endpoint answered 410 Gone. (rule: gone)",
            "Last error: The endpoint answered 400.",
            "Last success: none on record",
            "Waiting for it: 1 delivery",
            f"manage.py endpoint enable {endpoint.pk}",
            "After 30 days without that it is archived",
        ):
            assert said in message.body
        assert [message.body for message in mails_to("ops@example.org")] == [message.body]

    def test_enabling_and_archiving_are_told_and_a_pause_is_not(self, endpoint):
        availability.pause(endpoint, actor="operator", reason="Maintenance.")
        availability.enable(endpoint, actor="operator")
        availability.disable(endpoint, actor="operator", reason="Broken.")
        availability.enable(endpoint, actor="operator", reason="Mended.")
        availability.archive(endpoint, actor="operator", reason="Retired.")

        assert kinds() == ["endpoint.disabled", "endpoint.enabled", "endpoint.archived"]

    def test_a_change_that_is_rolled_back_is_not_told(self, endpoint):
        with transaction.atomic():
            availability.disable(endpoint, actor="operator", reason="Broken.")
            transaction.set_rollback(True)

        assert not Notice.objects.exists()

    def test_the_last_notice_says_that_it_is_archived(self, endpoint):
        availability.disable(endpoint, actor="operator", reason="Broken.")
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=NOW - timedelta(days=31))

        health.sweep(NOW)

        assert "It has been disabled for 30 days." in Notice.objects.first().text
        assert kinds()[-1] == "endpoint.archived"


class TestHealth:
    def hour(self, endpoint, **failed):
        endpoint.spans.all().delete()
        delivered = failed.pop("delivered", 0)
        make_span(endpoint, NOW.replace(second=0) - 5 * MINUTE, delivered=delivered, failed=failed)
        return health.sweep(NOW)

    def test_a_warning_is_told_once_and_so_is_the_recovery(self, endpoint):
        self.hour(endpoint, delivered=80, timeout=20)
        self.hour(endpoint, delivered=70, timeout=30)
        self.hour(endpoint, delivered=100)
        self.hour(endpoint, delivered=100)

        assert kinds() == ["endpoint.warning", "endpoint.recovered"]
        assert "80.0% of 100 attempts succeeded" in Notice.objects.last().text
        assert Notice.objects.last().ended_at == NOW

    def test_what_was_well_from_the_beginning_is_no_news(self, endpoint):
        self.hour(endpoint, delivered=100)

        assert kinds() == []

    def test_disabling_ends_the_warning_and_a_new_one_is_news_after_enabling(self, endpoint):
        self.hour(endpoint, delivered=80, timeout=20)
        availability.disable(endpoint, actor="operator", reason="Broken.")
        availability.enable(endpoint, actor="operator")
        Endpoint.objects.filter(pk=endpoint.pk).update(state_changed_at=NOW - 10 * MINUTE)
        self.hour(endpoint, delivered=80, timeout=20)

        assert kinds() == ["endpoint.warning", "endpoint.disabled", "endpoint.enabled", "endpoint.warning"]

    def test_refused_credentials_at_a_healthy_endpoint_are_told_apart(self, endpoint):
        def hour(auth):
            endpoint.spans.all().delete()
            make_span(endpoint, NOW.replace(second=0) - 40 * MINUTE, delivered=1_000)
            make_span(endpoint, NOW.replace(second=0) - 5 * MINUTE, delivered=20, failed={"auth": auth})
            health.sweep(NOW)

        hour(10), hour(12), hour(11), hour(0), hour(10)

        assert kinds() == ["endpoint.auth_spike", "endpoint.auth_spike"]
        assert "10 attempts in the last 15 minutes were answered 401 or 403" in Notice.objects.last().text

    def test_when_nobody_can_be_reached_the_operators_hear_it_once_and_no_owner_does(self):
        for number in range(3):
            unreached = make_endpoint(tenant=str(number), owner_email="owner@example.org")
            make_span(unreached, NOW - 30 * MINUTE, failed={"connection": 50})

        health.sweep(NOW), health.sweep(NOW)
        notices.sweep(NOW)

        assert kinds() == ["pipeline.unreachable"]
        assert [message.to for message in mail.outbox] == [["ops@example.org"]]


class TestDeadLetters:
    @pytest.fixture(autouse=True)
    def moving(self, monkeypatch):
        monkeypatch.setattr(alarms, "survey", Survey)

    def test_each_depth_is_told_when_it_is_crossed_and_again_only_after_half_was_worked_off(self, monkeypatch):
        monkeypatch.setattr(alarms, "DEPTHS", (2, 4))
        told = []
        for depth in (1, 2, 3, 1, 2, 4, 5, 3, 4, 1, 2, 0, 2):
            while (opened := DeadLetter.objects.filter(resolution=Resolution.OPEN)).count() > depth:
                opened.first().delete()
            while opened.count() < depth:
                make_dead_letter(make_endpoint(tenant=f"t{Event.objects.count()}"))
            told.append(alarms.sweep().told)

        assert told == [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1]

    def test_a_jump_past_two_depths_is_one_notice_and_so_is_the_way_back(self, monkeypatch):
        monkeypatch.setattr(alarms, "DEPTHS", (1, 2, 3))
        letters = [make_dead_letter(make_endpoint(tenant=str(number))) for number in range(3)]

        alarms.sweep()
        for letter in letters[:2]:
            letter.delete()
        alarms.sweep()

        assert Notice.objects.get().threshold == 1
        assert Notice.objects.get().title == "3 or more dead letters are open"

    def test_an_old_one_is_told_once_until_it_is_dealt_with(self):
        letter = make_dead_letter()
        age = timedelta(days=3, hours=1)
        DeadLetter.objects.update(created_at=datetime.now(UTC) - age)

        assert [alarms.sweep().told for _ in range(2)] == [1, 0]
        letter.delete()
        alarms.sweep()
        assert Notice.objects.get(kind="dead_letters.age").ended_at

    def test_a_young_one_is_no_news(self):
        make_dead_letter()

        assert alarms.sweep().told == 0


class TestStandstill:
    @pytest.fixture
    def found(self, monkeypatch):
        found = Survey(problems=["The due sweep last ran 99 s ago."])
        monkeypatch.setattr(alarms, "survey", lambda: found)
        return found

    def test_it_is_told_once_when_it_lasts_and_so_is_its_end(self, found):
        for minutes in range(4):
            alarms.sweep(NOW + minutes * MINUTE)
            notices.sweep(NOW + minutes * MINUTE)
        found.problems = []
        alarms.sweep(NOW + 5 * MINUTE)
        notices.sweep(NOW + 5 * MINUTE)

        assert [message.subject for message in mail.outbox] == [
            "[Holdfast] The pipeline does not move as it should",
            "[Holdfast] The pipeline moves again",
        ]
        assert "The due sweep last ran 99 s ago." in mail.outbox[0].body

    def test_a_restart_is_told_to_nobody(self, found):
        alarms.sweep(NOW)
        notices.sweep(NOW)
        found.problems = []
        alarms.sweep(NOW + MINUTE)
        notices.sweep(NOW + 2 * MINUTE)

        assert mail.outbox == []
        assert Notice.objects.get().done_at

    def test_the_problems_come_from_the_survey(self, monkeypatch):
        alarms.sweep(NOW)

        assert "No worker was seen for" in Notice.objects.get(kind="pipeline.stuck").text


class TestSending:
    def test_each_notice_is_sent_once_over_each_channel(self):
        standing.tell(draft(owner_email="owner@example.org"), NOW)

        assert [notices.sweep(NOW).sent for _ in range(2)] == [1, 0]
        assert len(mails_to("owner@example.org")) == len(mails_to("ops@example.org")) == 1

    def test_a_second_sender_at_the_same_time_finds_nothing(self, monkeypatch):
        standing.tell(draft(), NOW)
        again = []
        monkeypatch.setattr(sending, "_log", lambda *_: again.append(sending._claim(NOW)))

        notices.sweep(NOW)

        assert again == [[]]

    def test_a_mail_server_that_is_away_is_tried_again_and_the_others_are_not_mailed_twice(self, monkeypatch):
        standing.tell(draft(owner_email="owner@example.org"), NOW)
        refuse(monkeypatch, "owner@example.org", error=ConnectionRefusedError("away"))

        assert notices.sweep(NOW).sent == 0
        assert notices.sweep(NOW + 30 * SECOND).sent == 0
        monkeypatch.undo()
        assert notices.sweep(NOW + 61 * SECOND).sent == 1
        assert [message.to for message in mail.outbox] == [["ops@example.org"], ["owner@example.org"]]

    def test_a_mailbox_that_does_not_exist_is_not_tried_for_ever(self, monkeypatch):
        standing.tell(draft(owner_email="owner@example.org"), NOW)
        refusal = smtplib.SMTPRecipientsRefused({"owner@example.org": (550, b"no such user")})
        refuse(monkeypatch, "owner@example.org", error=refusal)

        assert notices.sweep(NOW).sent == 1

    def test_a_sender_that_dies_before_it_mailed_loses_nothing(self, monkeypatch):
        standing.tell(draft(), NOW)
        monkeypatch.setattr(sending, "_mail_operators", lambda *_: (_ for _ in ()).throw(SystemExit))
        with pytest.raises(SystemExit):
            notices.sweep(NOW)
        monkeypatch.undo()

        assert notices.sweep(NOW + 4 * MINUTE).sent == 0
        assert notices.sweep(NOW + 5 * MINUTE).sent == 1
        assert len(mail.outbox) == 1

    def test_without_operators_and_owner_the_log_has_it(self, settings, caplog):
        settings.HOLDFAST = {}
        standing.tell(draft(), NOW)

        assert notices.sweep(NOW).sent == 1
        assert "Title 0" in caplog.text
        assert mail.outbox == []

    def test_many_at_once_are_one_list_and_a_few_are_not(self):
        for number in range(3):
            standing.tell(draft(number), NOW)
        notices.sweep(NOW)
        assert len(mail.outbox) == 3

        for number in range(10, 70):
            standing.tell(draft(number), NOW)
        assert notices.sweep(NOW).sent == 60
        assert len(mail.outbox) == 4
        assert mail.outbox[-1].subject == "[Holdfast] 60 notices"
        assert "Title 10" in mail.outbox[-1].body
        assert "… and 10 more." in mail.outbox[-1].body

    def test_a_steady_storm_becomes_a_list_every_ten_minutes(self, settings):
        settings.HOLDFAST = {"OPERATORS": ["ops@example.org"], "NOTICE_MAILS_PER_HOUR": 5}
        for minute in range(60):
            standing.tell(draft(minute), NOW + minute * MINUTE)
            notices.sweep(NOW + minute * MINUTE)

        assert len(mail.outbox) <= 5 + 6
        notices.sweep(NOW + 70 * MINUTE)
        assert Notice.objects.filter(operators_mailed_at=None).count() == 0
        said = "".join(f"{message.subject} {message.body}" for message in mail.outbox)
        assert all(f"Title {minute}" in said for minute in range(60))

    def test_old_notices_go_and_what_still_stands_or_waits_stays(self):
        standing.tell(draft(1), NOW - timedelta(days=91))
        notices.sweep(NOW - timedelta(days=91))
        standing.tell(draft(2, lasts=True), NOW - timedelta(days=91))
        standing.tell(draft(3), NOW)

        assert notices.sweep(NOW).deleted == 1
        assert set(Notice.objects.values_list("subject", flat=True)) == {"test:2", "test:3"}


def test_one_trouble_of_one_subject_stands_at_a_time():
    assert standing.tell(draft(lasts=True), NOW)
    assert not standing.tell(draft(lasts=True), NOW)
    with pytest.raises(IntegrityError, match="notice_stands_once_per_subject"), transaction.atomic():
        Notice.objects.create(kind="endpoint.warning", subject="test:0", title="Again", text="Again")
    standing.end(["test:0"], NOW)
    assert standing.tell(draft(lasts=True), NOW)


class TestOperationalEvents:
    @pytest.fixture(autouse=True)
    def tenant(self, settings):
        settings.HOLDFAST = {"OPERATORS": ["ops@example.org"], "OPERATIONS_TENANT": "operations"}

    def test_they_are_published_to_the_endpoints_of_the_operations_tenant(self, endpoint):
        receiver = make_endpoint(tenant="operations", event_types=["holdfast.endpoint.*"])
        availability.disable(endpoint, actor="operator", reason="Broken.")

        notices.sweep(), notices.sweep()

        event = Event.objects.get(tenant="operations")
        assert event.type == "holdfast.endpoint.disabled"
        assert event.data["endpoint"] == {"id": endpoint.pk, "host": "http://127.0.0.1:9", "tenant": "shop"}
        assert event.data["reason"] == "Broken. (operator)"
        assert [delivery.endpoint_id for delivery in event.deliveries.all()] == [receiver.pk]

    def test_trouble_of_an_operations_endpoint_publishes_nothing_and_is_mailed_all_the_same(self):
        receiver = make_endpoint(tenant="operations")
        availability.disable(receiver, actor="rule: health", reason="Broken.")

        assert notices.sweep().sent == 1
        assert not Event.objects.exists()
        assert len(mail.outbox) == 1

    def test_without_a_tenant_nothing_is_published(self, endpoint, settings):
        settings.HOLDFAST = {}
        availability.disable(endpoint, actor="operator", reason="Broken.")

        notices.sweep()

        assert not Event.objects.exists()


def test_no_channel_holds_a_path_a_query_or_a_body(endpoint, settings, caplog):
    settings.HOLDFAST = {"OPERATORS": ["ops@example.org"], "OPERATIONS_TENANT": "operations"}
    make_dead_letter(endpoint, data={"card": "PAYLOAD"})
    DeadLetter.objects.update(reason="It redirects to https://elsewhere.example/T0/SECRET?token=x and not back.")
    availability.disable(endpoint, actor="operator", reason=f"See {endpoint.url} please.")
    notices.sweep()

    notice = Notice.objects.get()
    said = caplog.text + "".join(f"{message.subject} {message.body}" for message in mail.outbox)
    said += notice.title + notice.text + str(notice.facts) + Event.objects.get(tenant="operations").body
    assert "https://elsewhere.example/…" in said
    for secret in ("SECRET", "token", "/hooks", "PAYLOAD", "/T0"):
        assert secret not in said
