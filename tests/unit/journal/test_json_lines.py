import json
import logging
from datetime import UTC, datetime

from journal import Said
from journal.json_lines import JsonLines


def written(msg, *args, **more):
    record = logging.LogRecord("some.logger", logging.WARNING, "", 0, msg, args, None)
    record.created = 1_780_000_000.25
    vars(record).update(more)
    text = JsonLines().format(record)
    assert "\n" not in text
    assert text.isascii()
    return json.loads(text)


def test_a_sentence_is_a_message():
    assert written("%d results wait", 3) == {
        "time": "2026-05-28T20:26:40.250Z",
        "level": "WARNING",
        "logger": "some.logger",
        "message": "3 results wait",
    }


def test_facts_stand_apart_with_their_types():
    said = written(Said(event="attempt.made", status_code=200, at=datetime(2026, 1, 2, tzinfo=UTC), keys=["a"]))

    assert said["event"] == "attempt.made"
    assert said["status_code"] == 200
    assert said["at"] == "2026-01-02T00:00:00.000Z"
    assert said["keys"] == ["a"]
    assert "message" not in said


def test_no_text_can_break_the_line_or_the_stream():
    said = written("a stranger says %s", "\n{}\u2028\udc88")

    assert said["message"] == "a stranger says \n{}\u2028\udc88"


def test_what_json_does_not_know_is_written_as_text():
    assert written(Said(event="e", path=b"\xff"))["path"] == "b'\\xff'"


def test_a_stack_that_was_asked_for_is_there():
    assert written("here", stack_info="Stack (most recent call last)")["stack"].startswith("Stack")
