"""The lines of the log, heard in a test: each must be said, and with every fact that it is declared with."""

import logging
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from journal import Line, Said

COMMON = {"event", "worker"}


def lines_of(module: ModuleType) -> list[Line]:
    """Those that a module declares."""
    return [each for each in vars(module).values() if isinstance(each, Line)]


def said(caplog: pytest.LogCaptureFixture, line: Line) -> list[dict[str, Any]]:
    """What was said of one kind, oldest first."""
    facts: list[Any] = [record.msg for record in caplog.records if isinstance(record.msg, Said)]
    return [dict(each) for each in facts if each["event"] == line.event]


def levels(caplog: pytest.LogCaptureFixture, line: Line) -> list[str]:
    """The levels of what was said of one kind."""
    records: Sequence[logging.LogRecord] = caplog.records
    return [each.levelname for each in records if isinstance(each.msg, Said) and each.msg["event"] == line.event]


def facts_said(caplog: pytest.LogCaptureFixture, line: Line) -> set[str]:
    """All facts that lines of this kind had, taken together."""
    return {name for facts in said(caplog, line) for name in facts} - COMMON
