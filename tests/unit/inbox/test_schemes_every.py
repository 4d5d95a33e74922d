"""What holds for every scheme, whoever signs."""

import dataclasses
import hashlib
import json

import pytest

from inbox.schemes import SCHEMES, Reason, Refused, Request
from tests.unit.inbox.senders import AGED, KEYED, NOW, SENDERS, TEXT_SECRET, Sender

BODIES = {
    "upper-case hex escapes beside an escaped backslash": rb'{"a":"\u001B[34m","b":"\\u2665"}',
    "whole floats": b'{"score": 0.0, "weight": 136.0}',
    "an emoji": '{"d":"\N{SMILING FACE WITH SMILING EYES} …"}'.encode(),
    "a form with a bare star": b"payload=%7B%22t%22%3A%22*bold%2A%22%7D",
    "64-bit numbers": b'{"id": 9123456789654321, "n": 1152921506151679042}',
    "a NUL escape": rb'{"x":"a\u0000b"}',
    "a lone surrogate": rb'{"id":"\ud83d","type":"\udc88","event":"\ud800","event_id":"\ud83d"}',
    "nothing": b"",
    "a list": b"[1, 2]",
    "a text": b'"text"',
    "half a document": b'{"id": "evt_1", "type": "a.b"',
    "nested without end": b"[" * 100_000,
    "a number without end": b'{"id": ' + b"9" * 5000 + b"}",
    "an id too long to keep": b'{"id": "' + b"x" * 300 + b'", "type": "' + b"y" * 300 + b'"}',
}

every = pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.name)
every_keyed = pytest.mark.parametrize("sender", KEYED, ids=lambda sender: sender.name)
every_aged = pytest.mark.parametrize("sender", AGED, ids=lambda sender: sender.name)

BODY = b'{"id":"evt_1","type":"a.b","created":1,"meta":{"id":"m1","kind":"k"}}'


def refusal(sender: Sender, request: Request, **changes) -> Refused:
    with pytest.raises(Refused) as caught:
        sender.check(request, **changes)
    return caught.value


def with_headers(request: Request, headers) -> Request:
    return dataclasses.replace(request, headers=headers)


def test_every_scheme_has_a_sender_here_and_its_own_name():
    assert {sender.scheme for sender in SENDERS} == set(SCHEMES)
    assert all(scheme.name == name for name, scheme in SCHEMES.items())


@every
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_whatever_bytes_the_provider_signed_are_accepted_with_an_id_and_type_that_can_be_stored(sender, body):
    verified = sender.check(sender.request(body))
    assert verified.payload == body
    assert 1 <= len(verified.event_id) <= 255
    assert verified.event_id.isprintable()
    assert len(verified.event_type) <= 255
    verified.event_type.encode()


@every
def test_a_malformed_document_is_still_proven_with_an_id_and_without_a_type(sender):
    body = b'{"id": "evt_1", "type": "a.b"'
    verified = sender.check(sender.request(body))
    assert verified.event_type == ""
    assert verified.event_id in {
        hashlib.sha256(body).hexdigest(),
        "msg_1",
        "72d3162e-cc78-11e3-81ab-4c9367dc0958",
        "98880550-7158-44d4-b7cd-2c97c8a091b5:orders/create",
        "9d7e1f4c",
    }


@every
def test_header_names_match_in_any_case(sender):
    request = sender.request(BODY)
    for change in (str.lower, str.upper):
        assert sender.check(with_headers(request, {change(name): text for name, text in request.headers.items()}))


@every
def test_json_written_anew_is_refused_because_only_the_received_bytes_are_signed(sender):
    request = sender.request(BODY)
    rewritten = json.dumps(json.loads(BODY)).encode()
    assert rewritten != BODY
    assert refusal(sender, dataclasses.replace(request, body=rewritten)).reason == Reason.BAD_SIGNATURE


@every
def test_two_different_values_for_the_signature_header_are_refused(sender):
    request = sender.request(BODY)
    twice = dict(request.headers) | {sender.signature_header.swapcase(): "another"}
    assert refusal(sender, with_headers(request, twice)).reason == Reason.MALFORMED_HEADER


@every
def test_the_same_value_twice_is_one_value(sender):
    request = sender.request(BODY)
    signature = request.headers[sender.signature_header]
    assert sender.check(with_headers(request, dict(request.headers) | {sender.signature_header.swapcase(): signature}))


@every
def test_a_missing_signature_is_refused(sender):
    request = sender.request(BODY)
    rest = {name: text for name, text in request.headers.items() if name != sender.signature_header}
    assert refusal(sender, with_headers(request, rest)).reason in {Reason.MISSING_HEADER, Reason.NO_SIGNATURE}


@every
@pytest.mark.parametrize(
    "garbage", ["", " ", "\xe9", "sha256=\xe9", "v1,\xe9", "t=1,v1=\xe9", "t=\u0663,v1=aa", "\ud83d"]
)
def test_garbage_for_a_signature_is_refused_and_never_an_error(sender, garbage):
    request = sender.request(BODY)
    refusal(sender, with_headers(request, dict(request.headers) | {sender.signature_header: garbage}))


@every_keyed
def test_a_wrong_secret_is_refused_naming_the_key_tried_but_not_the_secret(sender):
    refused = refusal(sender, sender.request(BODY), secrets=(sender.another_secret,))
    assert refused.reason == Reason.BAD_SIGNATURE
    assert [len(name) for name in refused.fingerprints] == [12]
    assert refused.fingerprints[0] in str(refused)
    assert sender.another_secret not in str(refused)


@every_keyed
def test_during_a_rotation_any_live_secret_proves(sender):
    request = sender.request(BODY)
    assert sender.check(request, secrets=(sender.another_secret, *sender.secrets))
    assert sender.check(request, secrets=(*sender.secrets, sender.another_secret))


@every_keyed
def test_without_a_secret_everything_is_refused(sender):
    assert SCHEMES[sender.scheme].needs_secret
    assert refusal(sender, sender.request(BODY), secrets=()).reason == Reason.NO_SECRET


@every_keyed
@pytest.mark.parametrize("secret", ["", " ", "short", "whsec_", "whsec_!!!!", "v1,whsec_AAAA", "whpk_AAAA", "\n" * 20])
def test_a_malformed_secret_refuses_everything_and_is_named_as_a_fault_of_the_source(sender, secret):
    assert refusal(sender, sender.request(BODY), secrets=(*sender.secrets, secret)).reason == Reason.MALFORMED_SECRET
    assert SCHEMES[sender.scheme].secret_fault(secret)


@every_keyed
def test_white_space_from_pasting_a_secret_does_no_harm(sender):
    padded = tuple(f" {secret}\n" for secret in sender.secrets)
    assert sender.check(sender.request(BODY), secrets=padded)
    assert SCHEMES[sender.scheme].secret_fault(padded[0]) is None


@every_aged
@pytest.mark.parametrize("age", [-300, -299, 299, 300])
def test_up_to_five_minutes_between_signing_and_arrival_are_accepted(sender, age):
    assert sender.check(sender.request(BODY, sent_at=NOW - age))


@every_aged
@pytest.mark.parametrize("age", [-3600, -301, 301, 7200])
def test_more_than_five_minutes_are_refused_in_either_direction(sender, age):
    assert refusal(sender, sender.request(BODY, sent_at=NOW - age)).reason == Reason.STALE


@every
def test_an_unknown_option_is_a_fault(sender):
    assert "hedaer" in SCHEMES[sender.scheme].options_faults(dict(sender.options) | {"hedaer": "x"})
    assert SCHEMES[sender.scheme].options_faults(sender.options) == {}


def test_the_reason_of_a_refusal_reads_as_its_short_id():
    assert str(Refused(Reason.STALE, "Too old.").reason) == "stale"


def test_a_secret_that_ends_in_a_line_break_is_mentioned_once_in_the_log_by_its_fingerprint(caplog):
    scheme = SCHEMES["github"]
    secret = "a secret pasted with a line break\n"
    assert scheme.secret_fault(secret) is None
    assert scheme.secret_fault(secret) is None
    assert len(caplog.records) == 1
    assert "pasted" not in caplog.text
    assert scheme.secret_fault(TEXT_SECRET) is None
