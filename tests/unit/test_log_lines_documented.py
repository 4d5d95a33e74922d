"""The log's page names every line and every fact there is, and no other. That each is said is tested where it is."""

import logging

import pytest

import deliveries.lines
import endpoints.lines
import inbox.lines
from tests.integration.lines import lines_of
from tests.unit.test_docs import CODE, first_words, rows

LINES = [line for module in (deliveries.lines, endpoints.lines, inbox.lines) for line in lines_of(module)]
EVERYWHERE = ["time", "level", "logger", "event", "message", "traceback", "stack", "worker"]


def test_every_line_is_listed_once_and_no_other():
    assert sorted(first_words("docs/logging.md", "event")) == sorted(line.event for line in LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.event)
def test_a_line_is_listed_with_its_logger_its_level_and_its_facts(line):
    (cells,) = (cells for cells in rows("docs/logging.md", "event") if cells[0] == f"`{line.event}`")
    _, logger, level, when, facts = cells

    assert logger == f"`{line.logger_name}`"
    assert level.split(";")[0] == logging.getLevelName(line.level)
    assert when.endswith(".")
    assert CODE.findall(facts) == list(line.facts)


def test_every_fact_is_explained_once_and_no_other():
    named = {fact for line in LINES for fact in line.facts}
    listed = first_words("docs/logging.md", "fact")

    assert listed[: len(EVERYWHERE)] == EVERYWHERE
    assert listed[len(EVERYWHERE) :] == sorted(named)
