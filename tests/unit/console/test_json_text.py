"""Typed JSON keeps its numbers or is refused; stored JSON is laid out without being read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.json_text import UnusableJSON, indented, parse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_laying_out_changes_nothing_but_the_space_between_tokens(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    assert json.dumps(json.loads(indented(text)), ensure_ascii=False, separators=(",", ":")) == text


def test_a_layout_is_indented_and_keeps_numbers_and_empty_containers():
    assert indented('{"a":[1.50,{}],"b":[],"c":"x, {y}: \\"z\\""}') == (
        '{\n  "a": [\n    1.50,\n    {}\n  ],\n  "b": [],\n  "c": "x, {y}: \\"z\\""\n}'
    )


@given(VALUES)
def test_what_python_writes_is_read_back_the_same(value):
    assert parse(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["1.0", "1.50", "0.1", "1e3", "1E-7", "-0.0", "12345678901234567890"])
def test_a_number_that_keeps_its_value_is_taken(text: str):
    parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.1000000000000000055511151231257827", "as text"),
        ("1.00000000000000000001", "as text"),
        ("Infinity", "null or text"),
        ('{"a": 1, "b": 2, "a": 3}', "'a' is given twice"),
        ('{"a": 1,}', "line 1, column"),
        ("", "line 1, column 1"),
        ("9" * 5_000, "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_would_change_or_cannot_be_read_is_refused(text: str, words: str):
    with pytest.raises(UnusableJSON, match=words):
        parse(text)
