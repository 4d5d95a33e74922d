"""Rendering: one strict text per event, and errors that name the place and the remedy."""

import json
import sys
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deliveries.errors import HoldfastError, InvalidPayload, PayloadTooLarge
from deliveries.payloads import MAX_BYTES, MAX_DEPTH, event_id_fault, fingerprint, new_event_id, render

NOW = datetime(2026, 3, 1, 12, 30, 15, 123_456, tzinfo=UTC)

text = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=20,
)
json_documents = st.lists(json_values, max_size=4) | st.dictionaries(text, json_values, max_size=4)


def rendered(data: Any, **changes: Any) -> str:
    facts: dict[str, Any] = {"id": "evt_1", "type": "order.paid", "created_at": NOW, "sequence": 7} | changes
    return render(data=data, **facts)


def refused(data: Any) -> InvalidPayload:
    with pytest.raises(InvalidPayload) as caught:
        rendered(data)
    return caught.value


def nested(levels: int) -> list[Any]:
    data: list[Any] = []
    for _ in range(levels - 1):
        data = [data]
    return data


def test_the_body_is_compact_json_with_its_keys_in_the_promised_order() -> None:
    assert rendered({"b": 1, "a": [True, None, "x"]}) == (
        '{"id":"evt_1","type":"order.paid","created_at":"2026-03-01T12:30:15.123Z","sequence":7,'
        '"data":{"b":1,"a":[true,null,"x"]}}'
    )


@given(json_documents)
def test_a_strict_parser_reads_back_exactly_what_was_published(data: Any) -> None:
    assert json.loads(rendered(data).encode(), parse_constant=pytest.fail)["data"] == data


@pytest.mark.parametrize(
    ("data", "wire"),
    [
        ({"t": "😱 Привет"}, '{"t":"😱 Привет"}'),
        ({"note": "in\u2013network"}, '{"note":"in\u2013network"}'),
        ({"id": 9123456789654321, "n": 1152921506151679042}, '{"id":9123456789654321,"n":1152921506151679042}'),
        ({"score": 0.0, "weight": 136.0}, '{"score":0.0,"weight":136.0}'),
        ([(1, 2), ()], "[[1,2],[]]"),
        (OrderedDict(b=1, a=2), '{"b":1,"a":2}'),
        ([], "[]"),
    ],
)
def test_text_and_numbers_are_written_as_they_are(data: Any, wire: str) -> None:
    assert rendered(data).endswith(f'"data":{wire}}}')


def test_nul_in_text_is_escaped_so_that_a_text_column_takes_it() -> None:
    body = rendered({"x": "a\u0000b"})

    assert r'"a\u0000b"' in body
    assert "\x00" not in body


def test_choices_and_marked_up_text_are_written_as_their_plain_values() -> None:
    class Colour(StrEnum):
        RED = "red"

    class Size(IntEnum):
        LARGE = 3

    class Markup(str):
        pass

    assert rendered({Colour.RED: [Colour.RED, Size.LARGE, Markup("<b>")]}).endswith('"data":{"red":["red",3,"<b>"]}}')


@pytest.mark.parametrize(
    ("data", "field", "rule", "advice"),
    [
        ({"a": [float("nan"), float("inf"), 123]}, "data.a[0]", "not-finite", "no NaN"),
        ({"a": [1, float("-inf")]}, "data.a[1]", "not-finite", "no NaN"),
        ([10**5_000], "data[0]", "not-finite", "this long"),
        ({"s": "\udc88"}, "data.s", "lone-surrogate", "surrogate"),
        (["\ud83d"], "data[0]", "lone-surrogate", "surrogate"),
        ({"ok": {"\ud83d": 1}}, "data.ok", "lone-surrogate", "surrogate"),
        ({"lines": [{}, {1: "one"}]}, "data.lines[1]", "key-not-text", "str(key)"),
        ({"a": {True: 1}}, "data.a", "key-not-text", "str(key)"),
        ({None: 1}, "data", "key-not-text", "str(key)"),
        ({"a": {1.5: 1}}, "data.a", "key-not-text", "str(key)"),
        ({"a": {(1, 2): 1}}, "data.a", "key-not-text", "str(key)"),
        ({"a": ({"b": {2: 3}},)}, "data.a[0].b", "key-not-text", "str(key)"),
        ({"price": Decimal("9.99")}, "data.price", "not-json", "str(value)"),
        ({"at": NOW}, "data.at", "not-json", "isoformat()"),
        ({"on": date(2026, 3, 1)}, "data.on", "not-json", "isoformat()"),
        ({"for": timedelta(1)}, "data.for", "not-json", "total_seconds()"),
        ({"id": uuid4()}, "data.id", "not-json", "str(value)"),
        ({"tags": {"a"}}, "data.tags", "not-json", "sorted(value)"),
        ({"raw": b"x"}, "data.raw", "not-json", "base64"),
        ({"thing": object()}, "data.thing", "not-json", "convert it first"),
    ],
)
def test_data_that_is_not_strict_json_is_refused_naming_place_rule_and_remedy(
    data: Any, field: str, rule: str, advice: str
) -> None:
    error = refused(data)

    assert (error.field, error.rule) == (field, rule)
    assert str(error).startswith(f"{field}: ")
    assert advice in str(error)
    str(error).encode()


@pytest.mark.parametrize("data", ["text", 1, None, (1, 2), b"{}", {"a"}])
def test_only_an_object_or_an_array_stands_on_top(data: Any) -> None:
    assert refused(data).rule == "not-a-container"


def test_refusals_are_value_errors_so_that_callers_need_not_know_ours() -> None:
    assert isinstance(refused([float("nan")]), ValueError)
    assert isinstance(refused([float("nan")]), HoldfastError)


def test_data_may_nest_to_the_limit_and_no_deeper() -> None:
    assert rendered(nested(MAX_DEPTH))
    assert refused(nested(MAX_DEPTH + 1)).rule == "too-deep"
    assert refused({"a": nested(MAX_DEPTH)}).field.startswith("data.a[0][0]")


@pytest.mark.parametrize("levels", [sys.getrecursionlimit() - 50, 100_000])
def test_data_nested_beyond_the_interpreters_stack_is_refused_like_any_other(levels: int) -> None:
    assert refused(nested(levels)).rule == "too-deep"


def test_data_that_holds_itself_is_refused() -> None:
    data: dict[str, Any] = {}
    data["self"] = [data]

    assert refused(data).rule == "too-deep"


def test_an_error_does_not_repeat_an_endless_path() -> None:
    assert len(str(refused({"k" * 10_000: {"l" * 10_000: object()}}))) < 400


def test_the_size_limit_counts_the_bytes_of_the_whole_body() -> None:
    room = MAX_BYTES - len(rendered([""]).encode())

    assert len(rendered(["a" * room]).encode()) == MAX_BYTES
    assert rendered(["é" * (room // 2)])
    for filler in ("a" * (room + 1), "é" * (room // 2 + 1), "😱" * (room // 4 + 1)):
        with pytest.raises(PayloadTooLarge) as caught:
            rendered([filler])
        assert (caught.value.field, caught.value.rule) == ("data", "too-large")
        assert "262,144" in str(caught.value)


@pytest.mark.parametrize(
    ("created_at", "written"),
    [
        (datetime(2026, 3, 1, tzinfo=UTC), "2026-03-01T00:00:00.000Z"),
        (datetime(2026, 3, 29, 2, 59, 59, 999_999, tzinfo=ZoneInfo("Europe/Vienna")), "2026-03-29T01:59:59.999Z"),
        (datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=ZoneInfo("Europe/Vienna")), "2026-10-25T00:30:00.000Z"),
        (datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Vienna")), "2026-10-25T01:30:00.000Z"),
    ],
)
def test_the_time_is_written_in_utc_with_milliseconds(created_at: datetime, written: str) -> None:
    assert json.loads(rendered({}, created_at=created_at))["created_at"] == written


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidPayload) as caught:
        rendered({}, created_at=NOW.replace(tzinfo=None))

    assert caught.value.field == "created_at"


def test_the_fingerprint_ignores_the_order_of_keys_and_nothing_else() -> None:
    base = fingerprint(type="a.b", tenant="t", data={"x": 1, "y": {"p": [1, 2], "q": None}})

    assert base == fingerprint(type="a.b", tenant="t", data={"y": {"q": None, "p": (1, 2)}, "x": 1})
    others = [
        fingerprint(type="a.c", tenant="t", data={"x": 1, "y": {"p": [1, 2], "q": None}}),
        fingerprint(type="a.b", tenant="u", data={"x": 1, "y": {"p": [1, 2], "q": None}}),
        fingerprint(type="a.b", tenant="t", data={"x": 1, "y": {"p": [2, 1], "q": None}}),
        fingerprint(type="a.b", tenant="t", data={"x": "1", "y": {"p": [1, 2], "q": None}}),
        fingerprint(type="a.b", tenant="t", data={"x": True, "y": {"p": [1, 2], "q": None}}),
    ]
    assert len({base, *others}) == 6
    assert fingerprint(type="a", tenant="bc", data=[]) != fingerprint(type="ab", tenant="c", data=[])


@given(json_documents)
def test_the_stored_body_has_the_fingerprint_of_what_was_published(data: Any) -> None:
    stored = json.loads(rendered(data))["data"]

    assert fingerprint(type="a", tenant="", data=stored) == fingerprint(type="a", tenant="", data=data)


def test_the_fingerprint_refuses_what_rendering_refuses() -> None:
    with pytest.raises(InvalidPayload) as caught:
        fingerprint(type="a", tenant="", data={"a": {1: 2, "1": 3}})

    assert caught.value.rule == "key-not-text"


@given(st.integers(0, 2**52), st.integers(1, 2**40))
@example(since_epoch=0, gap=1)
def test_event_ids_sort_by_time_as_text_to_the_microsecond(since_epoch: int, gap: int) -> None:
    earlier = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=since_epoch)
    later = earlier + timedelta(microseconds=gap)

    assert new_event_id(earlier, b"\xff" * 8) < new_event_id(later, b"\x00" * 8)


def test_an_event_id_is_a_version_7_uuid_that_holds_its_time() -> None:
    made = UUID(new_event_id(NOW).removeprefix("evt_"))

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == int(NOW.timestamp() * 1000)


def test_event_ids_made_at_one_instant_are_all_different_and_usable() -> None:
    made = {new_event_id(NOW) for _ in range(10_000)}

    assert len(made) == 10_000
    assert all(event_id_fault(id) is None and len(id) == 36 for id in made)


def test_an_event_id_is_settled_by_its_time_and_entropy() -> None:
    assert new_event_id(NOW, b"12345678") == new_event_id(NOW, b"12345678") != new_event_id(NOW, b"12345679")


@pytest.mark.parametrize("id", ["evt_1", "order:42", "A-Z_0", "x" * 64])
def test_an_id_of_letters_digits_and_a_few_marks_is_taken(id: str) -> None:
    assert event_id_fault(id) is None


@pytest.mark.parametrize(
    ("id", "words"),
    [
        (None, "NoneType"),
        (7, "int"),
        (b"evt_1", "bytes"),
        ("", "not empty"),
        ("x" * 65, "65"),
        ("a b", "only"),
        ("a\r\nX-Injected: 1", "only"),
        ("evt_1\n", "only"),
        ("é", "only"),
        ("٣", "only"),
        ("a\x00", "only"),
        ("order.42", "full stop"),
    ],
)
def test_an_id_that_is_unsafe_in_a_header_or_in_the_signed_text_is_refused(id: object, words: str) -> None:
    fault = event_id_fault(id)

    assert fault is not None
    assert words in fault
    assert fault.endswith(".")
