import dataclasses
import json

import pytest

from inbox.schemes import Reason, Refused, Request
from inbox.schemes.bodies import digest
from tests.unit.inbox.senders import GITHUB, NOW

FORM = "application/x-www-form-urlencoded"


def form(body: bytes) -> Request:
    return dataclasses.replace(GITHUB.request(body), content_type=FORM)


def test_githubs_published_example_verifies():
    signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    request = Request({"x-hub-signature-256": signature}, b"Hello, World!", "application/json", NOW)
    verified = GITHUB.check(request)
    assert verified.event_id == digest(b"Hello, World!")


def test_id_and_type_come_from_the_headers():
    verified = GITHUB.check(GITHUB.request(b'{"action":"opened"}'))
    assert (verified.event_id, verified.event_type) == ("72d3162e-cc78-11e3-81ab-4c9367dc0958", "issues")


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b"payload=%7B%22a%22%3A%22x%2By%22%7D", {"a": "x+y"}),
        (b"payload=%7B%22t%22%3A%22%2Abold%2A%22%7D", {"t": "*bold*"}),
        (b"payload=%7B%22t%22%3A%22*bold*%22%7D", {"t": "*bold*"}),
        (b"payload=%7B%22t%22%3A%22%F0%9F%98%8A+x%22%7D", {"t": "😊 x"}),
    ],
)
def test_a_form_is_verified_raw_and_its_payload_decoded_once(body, document):
    verified = GITHUB.check(form(body))
    assert json.loads(verified.payload) == document
    assert verified.event_type == "issues"


@pytest.mark.parametrize("body", [b"other=1", b"payload=1&payload=2", b"payload=", b"", b"payload=%7B"])
def test_a_form_without_one_payload_is_proven_but_malformed_and_never_empty_by_mistake(body):
    verified = GITHUB.check(form(body))
    assert verified.event_type == ""
    assert verified.event_id == "72d3162e-cc78-11e3-81ab-4c9367dc0958"


@pytest.mark.parametrize("content_type", ["text/plain", "multipart/form-data; boundary=x", "", "application/xml"])
def test_other_content_types_are_unsupported(content_type):
    with pytest.raises(Refused) as caught:
        GITHUB.check(dataclasses.replace(GITHUB.request(b"{}"), content_type=content_type))
    assert caught.value.reason == Reason.UNSUPPORTED_CONTENT_TYPE


def test_a_content_type_may_carry_a_charset_and_any_case():
    assert GITHUB.check(dataclasses.replace(GITHUB.request(b"{}"), content_type="Application/JSON; charset=utf-8"))


def test_the_old_sha1_header_alone_proves_nothing():
    request = Request({"X-Hub-Signature": "sha1=" + "0" * 40}, b"{}", "application/json", NOW)
    with pytest.raises(Refused) as caught:
        GITHUB.check(request)
    assert caught.value.reason == Reason.MISSING_HEADER
