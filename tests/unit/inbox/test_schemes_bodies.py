from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbox.schemes import bodies


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("evt_1", "evt_1"),
        (9123456789654321, "9123456789654321"),
        (True, ""),
        (1.0, ""),
        (None, ""),
        ("", ""),
        ("   ", ""),
        ("a\x00b", ""),
        ("\ud83d", ""),
        ("line\nbreak", ""),
        ("x" * 255, "x" * 255),
        ("x" * 256, ""),
        (10**30, ""),
    ],
)
def test_only_what_can_be_stored_whole_is_an_id_or_a_type(value, name):
    assert bodies.name(value) == name


def test_a_path_leads_through_objects_and_lists():
    document = {"data": {"items": [{"id": "a"}, {"id": "b"}]}}
    assert bodies.at(document, "data.items.1.id") == "b"


@pytest.mark.parametrize("path", ["data.items.2.id", "data.items.-1.id", "data.items.x", "nothing", "data.items.²", ""])
def test_a_path_that_leads_nowhere_gives_none(path):
    assert bodies.at({"data": {"items": [{"id": "a"}]}}, path) is None


@given(document=st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers())), path=st.text())
def test_no_document_and_no_path_is_an_error(document, path):
    bodies.name_at(document, path)


@pytest.mark.parametrize("payload", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5000, b"payload=x"])
def test_what_is_not_json_is_none(payload):
    assert bodies.parsed(payload) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1700000000, 1700000000.0),
        (1.5, 1.5),
        ("2023-03-29T18:00:27.877041743Z", datetime(2023, 3, 29, 18, 0, 27, 877041, UTC).timestamp()),
        ("2019-06-28T18:03:50+01:00", datetime(2019, 6, 28, 17, 3, 50, tzinfo=UTC).timestamp()),
        ("2019-06-28T18:03:50", None),  # whose clock?
        (1700000000000, None),  # milliseconds
        (-1, None),
        (True, None),
        (float("nan"), None),
        ("0001-01-01T00:00:00+14:00", datetime(1, 1, 1, tzinfo=UTC).timestamp() - 14 * 3600),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_are_unix_seconds_or_iso_8601_with_an_offset(value, seconds):
    assert bodies.unix_seconds(value) == seconds


def test_a_form_field_is_decoded_exactly_once():
    assert bodies.form_fields(b"payload=%7B%22a%22%3A%22x%2By%22%7D")["payload"] == b'{"a":"x+y"}'
    assert bodies.form_fields(b"a=%252B+x&b=*bold%2A&c=%F0%9F%98%8A") == {
        "a": b"%2B x",
        "b": b"*bold*",
        "c": "😊".encode(),
    }


@pytest.mark.parametrize("body", [b"a=1&a=2", b"&".join(b"a%d=1" % number for number in range(101)), b""])
def test_a_form_with_a_name_twice_or_too_many_fields_has_none(body):
    assert bodies.form_fields(body) == {}


def test_a_form_may_have_as_many_fields_as_allowed():
    assert len(bodies.form_fields(b"&".join(b"a%d=1" % number for number in range(100)))) == 100


def test_the_same_bytes_have_the_same_digest_and_others_another():
    assert bodies.digest(b"{}") == bodies.digest(bytes(bytearray(b"{}"))) != bodies.digest(b"{ }")
