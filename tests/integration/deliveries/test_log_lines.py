"""Every line of the log is said with all its facts, once what it says is committed, and holds no secret."""

import logging
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from deliveries import alerts, lines, operations, pacing, publish, publish_many, redrive, replay
from deliveries.deliver import deliver
from deliveries.models import Delivery, Event
from deliveries.notices.sending import send_waiting
from deliveries.outcomes import Exchange
from deliveries.pacing import Tally, rules
from deliveries.prune import Retention, prune
from deliveries.sweeps import health
from deliveries.transitions.expire import expire
from deliveries.transitions.lapse import lapse
from deliveries.transport import MemoryTransport
from endpoints import availability
from endpoints import lines as endpoint_lines
from endpoints.models import RetryPolicy
from endpoints.rotation import revoke, rotate
from journal import Line
from journal.json_lines import JsonLines
from tests.factories import backdate, lease, make_dead_letter, make_delivered, make_endpoint, make_event, make_span
from tests.integration.lines import facts_said, levels, lines_of, said

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
URL = "https://hooks.example/hook/PATHSECRET?token=SECRET"

SCENES: dict[str, Any] = {}


def scene(*shown: Line):
    def register(play):
        SCENES.update({line.event: play for line in shown})
        return play

    return register


@pytest.fixture(autouse=True)
def heard(caplog):
    caplog.set_level(logging.INFO)
    return caplog


@pytest.fixture
def commit(django_capture_on_commit_callbacks):
    """What follows happens as if each transaction was committed."""
    return lambda: django_capture_on_commit_callbacks(execute=True)


def traced(**fields) -> Event:
    event = Event(type="order.placed", tenant="shop", traceparent=TRACEPARENT, **fields)
    event.data = {"card": "PAYLOAD"}
    event.save()
    return event


@scene(lines.ATTEMPT_MADE, lines.EVENT_PUBLISHED, lines.DEAD_LETTERED)
def play_three_attempts():
    endpoint = make_endpoint(url=URL, tenant="shop", rate_limit_per_second=50, headers={"X-Key": "HEADERSECRET"})
    for _ in range(3):
        traced()
    receiver = MemoryTransport()
    answers = [Exchange(status_code=200, address="192.0.2.7"), Exchange(status_code=400, snippet="ANSWER")]
    receiver.script(URL, *answers, Exchange(status_code=429, retry_after="120"))
    deliver([endpoint.pk], transport=receiver)


@scene(lines.LAPSED)
def play_a_lapse():
    make_endpoint()
    lease(make_event().deliveries.get(), expires_in=timedelta(minutes=-1))
    lapse(10)


@scene(lines.HANDED_BACK)
def play_a_plea_for_less():
    endpoint = make_endpoint(max_concurrency=1)
    publish_many({"type": "order.placed", "data": {}} for _ in range(3))
    # An endpoint that asks for less gets nothing more of what was claimed for it.
    deliver([endpoint.pk], transport=MemoryTransport(503))


@scene(lines.REDRIVEN, lines.OPERATION_BEGUN, lines.OPERATION_FINISHED)
def play_a_redrive():
    redrive.redrive([make_dead_letter().pk], actor="anna", rate_per_second=5)


@scene(lines.REPLAYED)
def play_a_replay():
    replay.replay([make_delivered().pk], actor="anna")


@scene(lines.WITHDRAWN, lines.OPERATION_STOPPED)
def play_a_stopped_replay():
    operations.stop(replay.replay([make_delivered().pk], actor="anna"), actor="otto")


@scene(lines.LETTER_DISCARDED)
def play_a_discard():
    redrive.discard([make_dead_letter().pk], actor="anna", note="Nobody needs it.")


@scene(lines.LETTER_ANNOUNCED)
def play_an_alert():
    alerts.announce([make_dead_letter().pk])


@scene(lines.HEALTH_CHANGED)
def play_a_bad_hour():
    now = timezone.now()
    make_span(make_endpoint(), now - timedelta(minutes=5), delivered=40, failed={"server_error": 30})
    health.sweep(now)


@scene(lines.CIRCUIT_OPENED, lines.CIRCUIT_CLOSED)
def play_a_circuit():
    id = make_endpoint().pk
    pacing.report({id: Tally(bad=rules.OPEN_STREAK, streak=rules.OPEN_STREAK)}, rng=Random(1))
    pacing.resume(id, "was disabled", afresh=True)


@scene(lines.CIRCUIT_HALF_OPENED)
def play_a_probe():
    endpoint = make_endpoint()
    make_event()
    long_ago = int(timezone.now().timestamp() * 1000) - 60_000
    pacing.report({endpoint.pk: Tally(bad=9, streak=9)}, now_ms=long_ago)
    deliver([endpoint.pk], transport=MemoryTransport())


@scene(lines.NOTICE_WRITTEN, lines.NOTICE_TOLD, endpoint_lines.STATE_CHANGED)
def play_a_disabled_endpoint():
    availability.disable(make_endpoint(url=URL), actor="anna", reason=f"It moved away from {URL} for good.")
    send_waiting(timezone.now())


@scene(lines.PRUNED)
def play_a_prune():
    event = make_event()
    Event.objects.filter(pk=event.pk).update(created_at=timezone.now() - timedelta(days=40))
    prune(Retention(events=30, attempts=30, dead_letters=30), now=timezone.now(), pause=lambda _: None)


@scene(endpoint_lines.SECRET_ROTATED, endpoint_lines.SECRET_REVOKED)
def play_a_rotation():
    endpoint = make_endpoint()
    old = endpoint.signing_secrets.get()
    rotate(endpoint, actor="anna")
    revoke(old, actor="anna", reason="It leaked.")


ALL = [*lines_of(lines), *lines_of(endpoint_lines)]


@pytest.mark.parametrize("line", ALL, ids=lambda line: line.event)
def test_the_line_is_said_with_every_fact_that_it_declares_and_no_other(line, commit, heard):
    with commit():
        SCENES[line.event]()

    assert facts_said(heard, line) == set(line.facts)


@pytest.mark.parametrize("play", list(dict.fromkeys(SCENES.values())), ids=lambda p: p.__name__)
def test_nothing_is_said_of_what_was_rolled_back(play, commit, heard):
    at_once = {
        # What happens in Redis, or beside a test's transaction, is not undone with it.
        *("circuit.opened", "circuit.half_opened", "circuit.closed"),
        *("delivery.handed_back", "prune.batch_done", "dead_letter.announced", "notice.told"),
    }

    with commit(), transaction.atomic():
        play()
        transaction.set_rollback(True)

    events = {record.msg["event"] for record in heard.records if isinstance(record.msg, dict)}
    assert events <= at_once


def test_no_line_holds_a_secret_a_payload_an_answer_or_the_path_of_a_url(commit, heard):
    with commit():
        for play in (play_three_attempts, play_a_disabled_endpoint, play_a_rotation, play_an_alert):
            play()

    written = heard.text + "".join(JsonLines().format(record) for record in heard.records)
    assert len(heard.records) > 10
    assert written.count("https://hooks.example") > 2
    for secret in ("SECRET", "PAYLOAD", "ANSWER", "/hook/", "token", "whsec_"):
        assert secret not in written


def test_an_attempt_says_what_it_led_to(commit, heard):
    with commit():
        play_three_attempts()

    told = {each["decision"]: each for each in said(heard, lines.ATTEMPT_MADE)}
    assert set(told) == {"delivered", "dead_letter", "retry"}
    assert told["delivered"]["event_to_ack_ms"] >= told["delivered"]["duration_ms"]
    assert told["delivered"]["trace_id"] == TRACEPARENT[3:35]
    assert "reason" not in told["delivered"]
    assert told["retry"]["next_attempt_at"] == Delivery.objects.get(status="pending").next_attempt_at
    assert (told["retry"]["outcome"], told["retry"]["retry_after"]) == ("throttled", "120")
    assert levels(heard, lines.ATTEMPT_MADE) == ["INFO"] * 3


def test_a_dead_letter_is_told_after_the_attempt_that_led_to_it(commit, heard):
    with commit():
        play_three_attempts()

    events = [each.msg["event"] for each in heard.records if isinstance(each.msg, dict) and "attempt" in str(each.msg)]
    assert events.index("delivery.dead_lettered") > events.index("attempt.made")


def test_an_expired_delivery_is_a_dead_letter_of_that_class(commit, heard):
    make_endpoint()
    backdate(make_event().deliveries.get(), deadline_at=timedelta(seconds=5))

    with commit():
        expire(10)

    (told,) = said(heard, lines.DEAD_LETTERED)
    assert (told["failure_class"], told["attempts"]) == ("expired", 0)
    assert levels(heard, lines.DEAD_LETTERED) == ["WARNING"]


def test_a_lapse_that_spends_the_last_attempt_says_so(commit, heard):
    make_endpoint(retry_policy=RetryPolicy.objects.create(name="one", max_attempts=1))
    lease(make_event().deliveries.get(), expires_in=timedelta(minutes=-1))

    with commit():
        lapse(10)

    assert said(heard, lines.LAPSED)[0]["status"] == "dead"
    assert said(heard, lines.DEAD_LETTERED)[0]["failure_class"] == "unknown"


def test_a_probe_that_comes_through_closes_the_circuit(commit, heard):
    with commit():
        play_a_probe()

    assert [each["from_state"] for each in said(heard, lines.CIRCUIT_OPENED)] == ["closed"]
    assert [each["from_state"] for each in said(heard, lines.CIRCUIT_CLOSED)] == ["half-open"]
    assert said(heard, lines.ATTEMPT_MADE)[0]["pace"] == "probe"


def test_an_event_for_nobody_is_told_too(commit, heard):
    with commit():
        publish("order.placed", {})

    assert [each["deliveries"] for each in said(heard, lines.EVENT_PUBLISHED)] == [0]


def test_a_missed_event_that_is_replayed_is_told_as_a_first(commit, heard):
    event = make_event()
    make_endpoint()

    with commit():
        replay.replay_events([event.pk], actor="anna")

    assert [each["is_first"] for each in said(heard, lines.REPLAYED)] == [True]
