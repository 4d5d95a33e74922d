"""Whatever arrives, a scheme answers Verified or Refused; and no change of a proven request passes."""

import contextlib
import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbox.schemes import Reason, Refused, Request
from tests.unit.inbox.senders import ADYEN, NOW, SENDERS, Sender

every = pytest.mark.parametrize("sender", SENDERS, ids=lambda sender: sender.name)

NAMES = sorted({name for sender in SENDERS for name in sender.headers(b"{}", NOW)})
TOKENS = [
    "t=",
    "v1=",
    "v0=",
    "v1,",
    "v1a,",
    "sha256=",
    "sig ",
    ",",
    "=",
    ".",
    " ",
    "eyJhbGciOiJFUzI1NiJ9",
    "a" * 64,
    "1",
]

values = st.one_of(
    st.text(max_size=100),
    st.lists(st.one_of(st.sampled_from(TOKENS), st.text(max_size=5)), max_size=12).map("".join),
    st.binary(max_size=100).map(lambda raw: raw.decode("latin-1")),
)
requests = st.builds(
    Request,
    headers=st.dictionaries(st.one_of(st.sampled_from(NAMES), st.text(max_size=20)), values, max_size=8),
    body=st.binary(max_size=200),
    content_type=values,
    received_at=st.floats(allow_nan=True, allow_infinity=True),
)
FIELDS = ["id", "type", "event", "event_id", "event_time", "created", "timestamp", "data", "command", "webhook_type"]
FIELDS += ["amount", "value", "pspReference", "eventCode", "additionalData", "hmacSignature", "eventDate", "meta"]

documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(st.sampled_from(FIELDS), st.text(max_size=5)), inner, max_size=4),
    ),
    max_leaves=10,
)


@every
@settings(max_examples=30, deadline=None)
@given(request=requests)
def test_garbage_is_refused_and_is_never_another_error(sender: Sender, request: Request):
    with pytest.raises(Refused):
        sender.check(request)


@every
@settings(max_examples=30, deadline=None)
@given(header=st.sampled_from(NAMES), value=values, body=st.binary(max_size=20))
def test_one_strange_header_on_a_genuine_request_is_never_an_error(sender: Sender, header, value, body):
    request = sender.request(b"{}")
    with contextlib.suppress(Refused):  # headers that are not signed, such as an id, may hold anything
        sender.check(dataclasses.replace(request, headers=dict(request.headers) | {header: value}))


@every
@settings(max_examples=30, deadline=None)
@given(document=documents)
def test_whatever_document_was_signed_has_an_id_and_a_type_that_can_be_stored(sender: Sender, document):
    verified = sender.check(sender.request(json.dumps(document).encode()))
    assert 1 <= len(verified.event_id) <= 255
    (verified.event_id + verified.event_type).encode()


@settings(max_examples=100, deadline=None)
@given(items=st.lists(documents, max_size=3), around=documents)
def test_adyens_items_may_hold_anything(items, around):
    containers = [{"NotificationRequestItem": item} for item in items]
    for document in ({"notificationItems": containers}, {"notificationItems": around}, around):
        with pytest.raises(Refused):
            ADYEN.check(Request({}, json.dumps(document).encode(), "application/json", NOW))


@every
@settings(max_examples=30, deadline=None)
@given(body=st.binary(max_size=100))
def test_a_genuine_signature_on_another_body_is_refused(sender: Sender, body):
    request = sender.request(b'{"id": "evt_1"}')
    with pytest.raises(Refused) as caught:
        sender.check(dataclasses.replace(request, body=body))
    assert caught.value.reason == Reason.BAD_SIGNATURE


@every
@settings(max_examples=30, deadline=None)
@given(position=st.integers(min_value=0), replacement=st.characters(max_codepoint=0xFF))
def test_no_single_character_of_a_signature_can_be_changed(sender: Sender, position, replacement):
    request = sender.request(b'{"id": "evt_1"}')
    signature = request.headers[sender.signature_header]
    position %= len(signature)
    changed = signature[:position] + replacement + signature[position + 1 :]
    if changed.lower() == signature.lower():  # hexadecimal digits count in either case
        return
    with pytest.raises(Refused):
        sender.check(dataclasses.replace(request, headers=dict(request.headers) | {sender.signature_header: changed}))
