"""Header fields of an answer."""

import io
from http.client import HTTPException

import pytest

from deliveries.transport.answers import clean_header, clean_text, read_headers


def _read(raw: bytes) -> dict[str, str]:
    headers: dict[str, str] = {}
    read_headers(io.BytesIO(raw), headers)
    return headers


def test_names_are_lower_case_and_values_stripped():
    assert _read(b"Retry-After:  5 \r\nX:y\r\n\r\nbody") == {"retry-after": "5", "x": "y"}


def test_the_first_of_a_repeated_field_counts():
    assert _read(b"Content-Length: 1\r\ncontent-length: 2\r\n\r\n") == {"content-length": "1"}


def test_folded_lines_belong_to_the_field_before():
    assert _read(b"X: a\r\n  b\r\n\tc\r\n\r\n") == {"x": "a b c"}


def test_odd_lines_do_no_harm():
    assert _read(b" leading\r\nno colon\r\n: no name\r\nX: \xff\r\n\r\n")["x"] == "ÿ"


@pytest.mark.parametrize("raw", [b"X: " + b"y" * 70_000 + b"\r\n\r\n", b"X: y\r\n" * 101 + b"\r\n"])
def test_lines_too_long_or_too_many_are_refused(raw):
    with pytest.raises(HTTPException):
        _read(raw)


def test_text_and_headers_hold_no_nul_and_headers_no_novel():
    assert clean_text(b"a\0b\xff") == "ab\N{REPLACEMENT CHARACTER}"
    assert clean_header("a\0b" + "x" * 9000) == "ab" + "x" * 2045
    assert clean_header(None) is None
