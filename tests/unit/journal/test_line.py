import json
import logging
from datetime import UTC, datetime

import pytest

from journal import Line, Said, line, name_worker
from journal.json_lines import JsonLines

ARRIVED = Line("parcel.arrived", "holdfast.parcels", "parcel_id weight place")
FACTS = {"parcel_id": 7, "weight": 1.5, "place": None}


@pytest.fixture(autouse=True)
def heard(caplog):
    caplog.set_level(logging.INFO, "holdfast.parcels")
    return caplog


def test_a_line_has_its_event_and_its_facts_and_leaves_out_what_does_not_apply(heard):
    ARRIVED.say(FACTS)

    record = heard.records[0]
    assert record.msg == {"event": "parcel.arrived", "parcel_id": 7, "weight": 1.5}
    assert (record.name, record.levelname) == ("holdfast.parcels", "INFO")


def test_any_formatter_writes_the_facts(heard):
    ARRIVED.say(FACTS)

    assert heard.records[0].getMessage() == "parcel.arrived parcel_id=7 weight=1.5"


def test_nothing_is_put_together_when_nobody_listens(heard):
    heard.set_level(logging.WARNING, "holdfast.parcels")

    ARRIVED.say_on_commit(pytest.fail("built") for _ in range(1))

    assert not ARRIVED.is_wanted
    assert not heard.records


def test_a_level_of_its_own_and_an_error_come_with_the_line(heard):
    try:
        raise KeyError("gone")
    except KeyError as error:
        ARRIVED.say(FACTS, level=logging.ERROR, error=error)

    assert heard.records[0].levelname == "ERROR"
    assert "KeyError: 'gone'" in json.loads(JsonLines().format(heard.records[0]))["traceback"]


def test_a_worker_says_its_name_in_every_line(heard, monkeypatch):
    monkeypatch.setattr(line._Process, "worker", "")
    name_worker("healthy@host")

    ARRIVED.say(FACTS)

    assert heard.records[0].msg["worker"] == "healthy@host"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain/word", "plain/word"),
        ("two words", '"two words"'),
        ("", '""'),
        ('a"b', '"a\\"b"'),
        ("a=b", '"a=b"'),
        ("x\nERROR forged", '"x\\nERROR forged"'),
        ("x\u2028y", '"x\\u2028y"'),
        ("Grüße", '"Grüße"'),
        (True, "true"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00.000Z"),
        (["a", "b"], "a,b"),
    ],
)
def test_no_value_can_end_its_fact_or_its_line(value, text):
    assert str(Said(event="e", fact=value)) == f"e fact={text}"
