import base64
import dataclasses
import hashlib
import hmac
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox.schemes import SCHEMES, Reason, Refused, Request, Verified
from inbox.schemes.bodies import digest
from tests.unit.inbox.senders import GENERIC, GENERIC_OPTIONS, NOW, TEXT_SECRET

SCHEME = SCHEMES["generic-hmac"]
BODY = b'{"meta":{"id":"m1","kind":"order.paid"}}'


def check(headers: dict[str, str], options: dict[str, Any], body: bytes = BODY) -> Verified:
    return SCHEME.verify(Request(headers, body, "application/json", NOW), [TEXT_SECRET], options)


def mac(signed: bytes = BODY, algorithm: str = "sha256") -> bytes:
    return hmac.new(TEXT_SECRET.encode(), signed, algorithm).digest()


def test_id_and_type_are_found_by_their_paths():
    verified = GENERIC.check(GENERIC.request(BODY))
    assert (verified.event_id, verified.event_type) == ("m1", "order.paid")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "sha512"])
@pytest.mark.parametrize("prefix", ["", "sha=", "v1,"])
def test_every_algorithm_and_encoding_with_any_prefix(algorithm, prefix):
    made = mac(algorithm=algorithm)
    options = {"header": "X-Sig", "algorithm": algorithm, "prefix": prefix}
    assert check({"x-sig": prefix + made.hex().upper()}, options)
    assert check({"x-sig": prefix + base64.b64encode(made).decode()}, options | {"encoding": "base64"})


def test_a_signature_without_its_prefix_is_malformed():
    with pytest.raises(Refused) as caught:
        check({"X-Sig": mac().hex()}, {"header": "X-Sig", "prefix": "sha256="})
    assert caught.value.reason == Reason.MALFORMED_HEADER


def test_the_template_says_what_is_signed():
    signed = f"v2|{NOW}|\xe9:".encode("latin-1") + BODY + b"|end"
    options = {
        "header": "X-Sig",
        "timestamp_header": "X-Time",
        "id_header": "X-Id",
        "template": "v2|{timestamp}|{id}:{body}|end",
    }
    verified = check({"X-Sig": mac(signed).hex(), "X-Time": str(NOW), "X-Id": "\xe9"}, options)
    assert verified.event_id == "\xe9"


def test_headers_give_id_and_type_before_paths_do():
    options = {"header": "X-Sig", "id_header": "X-Id", "type_header": "X-Type", "id_path": "meta.id"}
    verified = check({"X-Sig": mac().hex(), "X-Id": "h1", "X-Type": "t"}, options)
    assert (verified.event_id, verified.event_type) == ("h1", "t")


def test_an_id_header_that_is_configured_is_required():
    with pytest.raises(Refused) as caught:
        check({"X-Sig": mac().hex()}, {"header": "X-Sig", "id_header": "X-Id"})
    assert caught.value.reason == Reason.MISSING_HEADER


def test_without_an_id_anywhere_the_body_is_its_own():
    assert check({"X-Sig": mac().hex()}, {"header": "X-Sig"}).event_id == digest(BODY)


def test_another_time_than_the_signed_one_is_refused():
    request = GENERIC.request(BODY)
    later = dataclasses.replace(request, headers=dict(request.headers) | {"X-Timestamp": str(NOW + 1)})
    with pytest.raises(Refused) as caught:
        GENERIC.check(later)
    assert caught.value.reason == Reason.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"header": ""}, "header"),
        ({"header": "X Sig"}, "header"),
        ({"header": 1}, "header"),
        ({"algorithm": "md5"}, "algorithm"),
        ({"encoding": "rot13"}, "encoding"),
        ({"prefix": "a\nb"}, "prefix"),
        ({"id_path": "a..b"}, "id_path"),
        ({"type_path": " "}, "type_path"),
        ({"id_header": "Ä"}, "id_header"),
        ({"template": "{timestamp}"}, "template"),
        ({"template": "{timestamp}{body}{body}"}, "template"),
        ({"template": "{body}"}, "template"),  # the timestamp header would not be signed
        ({"timestamp_header": ""}, "template"),
        ({"template": "{id}.{timestamp}.{body}"}, "template"),
        ({"secret": "x"}, "secret"),
    ],
)
def test_options_that_make_no_sense_are_named_and_refuse_everything(change, option):
    options = dict(GENERIC_OPTIONS) | change
    assert list(SCHEME.options_faults(options)) == [option]
    with pytest.raises(Refused) as caught:
        GENERIC.check(GENERIC.request(BODY), options=options)
    assert caught.value.reason == Reason.BAD_OPTIONS


def test_a_source_without_options_refuses_everything():
    assert "header" in SCHEME.options_faults({})
    with pytest.raises(Refused):
        check({"X-Sig": mac().hex()}, {})


options_found_in_a_row = st.dictionaries(
    st.one_of(st.sampled_from([*GENERIC_OPTIONS, "id_header", "type_header"]), st.text(max_size=5)),
    st.one_of(st.none(), st.integers(), st.text(max_size=20), st.lists(st.text(max_size=3), max_size=2)),
    max_size=6,
)


@given(options=options_found_in_a_row)
def test_no_options_are_an_error(options):
    SCHEME.options_faults(options)
    with pytest.raises(Refused):
        check({"X-Sig": hashlib.sha256(b"").hexdigest()}, options)
