import dataclasses
import json

import pytest
from slack_sdk.signature import SignatureVerifier

from inbox.schemes import Reason, Refused, Request
from tests.unit.inbox.senders import NOW, SLACK, TEXT_SECRET

FORM = "application/x-www-form-urlencoded"
EXAMPLE_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
EXAMPLE_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
EXAMPLE_HEADERS = {
    "X-Slack-Request-Timestamp": "1531420618",
    "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
}


def form(body: bytes) -> Request:
    return dataclasses.replace(SLACK.request(body), content_type=FORM)


def test_slacks_published_example_verifies_and_a_slash_command_becomes_json():
    request = Request(EXAMPLE_HEADERS, EXAMPLE_BODY, FORM, 1531420618.0)
    verified = SLACK.check(request, secrets=(EXAMPLE_SECRET,))
    command = json.loads(verified.payload)
    assert (command["command"], command["text"]) == ("/webhook-collect", "")
    assert verified.event_type == "slash_commands"


def test_an_event_is_known_by_its_own_type_id_and_time():
    body = b'{"type":"event_callback","event_id":"Ev08MFMKH6","event_time":1234567890,"event":{"type":"message"}}'
    verified = SLACK.check(SLACK.request(body))
    assert (verified.event_id, verified.event_type, verified.occurred_at) == ("Ev08MFMKH6", "message", 1234567890)


def test_the_challenge_of_a_new_url_is_proven_and_handed_on():
    verified = SLACK.check(SLACK.request(b'{"type":"url_verification","challenge":"3eZbrw1a"}'))
    assert verified.event_type == "url_verification"
    assert json.loads(verified.payload)["challenge"] == "3eZbrw1a"


def test_an_interaction_is_the_json_in_its_form():
    verified = SLACK.check(form(b"payload=%7B%22type%22%3A%22block_actions%22%2C%22value%22%3A%22*x*%22%7D"))
    assert verified.event_type == "block_actions"
    assert json.loads(verified.payload)["value"] == "*x*"


@pytest.mark.parametrize("body", [b"neither=1", b"payload=1&payload=2", b"%ff=%ff", b""])
def test_a_form_of_neither_kind_is_proven_but_malformed(body):
    assert SLACK.check(form(body)).event_type == ""


def test_a_field_that_is_not_utf_8_is_no_error():
    assert json.loads(SLACK.check(form(b"command=%2Fx&text=%ff")).payload) == {"command": "/x", "text": "\ufffd"}


@pytest.mark.parametrize("name", ["X-Slack-Request-Timestamp", "X-Slack-Signature"])
def test_both_headers_are_needed(name):
    request = SLACK.request(b"{}")
    rest = {key: value for key, value in request.headers.items() if key != name}
    with pytest.raises(Refused) as caught:
        SLACK.check(dataclasses.replace(request, headers=rest))
    assert caught.value.reason == Reason.MISSING_HEADER


def test_slacks_own_verifier_and_ours_agree_on_a_changed_timestamp():
    request = SLACK.request(b"{}", sent_at=NOW)
    headers = dict(request.headers) | {"X-Slack-Request-Timestamp": str(NOW + 1)}
    assert not SignatureVerifier(TEXT_SECRET).is_valid_request(b"{}", headers)
    with pytest.raises(Refused):
        SLACK.check(dataclasses.replace(request, headers=headers))
