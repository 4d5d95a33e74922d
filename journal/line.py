"""Kinds of log lines. What is said is facts; as text they read `name key=value …`, whatever formatter is at work."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Final

from django.db import transaction

# Visible ASCII, but no quotation mark and no equals sign.
_PLAIN: Final = re.compile(r"[!#-<>-~]+")

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


class Said(dict[str, object]):
    """What one line says, its event first. A log record carries it in place of a message.

    A formatter that knows dicts writes the facts apart; any other gets the text, in the manner of logfmt.
    """

    def __str__(self) -> str:
        facts = iter(self.items())
        _, event = next(facts)
        return " ".join([str(event), *(f"{name}={_word(value)}" for name, value in facts)])


class _Process:
    """Who speaks: the name of the worker that this process is; empty in any other process."""

    worker = ""


def name_worker(name: str) -> None:
    """Let every line of this process say which worker it comes from."""
    _Process.worker = name


class Line:
    """One kind of line: its event's name, its logger, its facts in the order they are documented, and its level."""

    def __init__(self, event: str, logger: str, facts: str, *, level: int = logging.INFO) -> None:
        self.event: Final = event
        self.facts: Final = tuple(facts.split())
        self.level: Final = level
        self._logger: Final = logging.getLogger(logger)

    @property
    def logger_name(self) -> str:
        return self._logger.name

    @property
    def is_wanted(self) -> bool:
        """Whether anybody listens. Ask before facts are put together."""
        return self._logger.isEnabledFor(self.level)

    def say(self, facts: Mapping[str, object], *, level: int | None = None, error: BaseException | None = None) -> None:
        """Write the line now. A fact that is None does not apply, and is left out.

        `level` replaces the line's own; `error` adds its traceback.
        """
        level = level or self.level
        if not self._logger.isEnabledFor(level):
            return
        said = Said(event=self.event)
        if _Process.worker:
            said["worker"] = _Process.worker
        said.update({name: value for name, value in facts.items() if value is not None})
        # Not `logger.log`: it looks for the calling line in the stack, which costs as much as the rest of the record.
        self._logger.handle(self._logger.makeRecord(self._logger.name, level, "", 0, said, (), _exc_info(error)))

    def say_on_commit(self, facts: Iterable[Mapping[str, object]]) -> None:
        """Write a line for each when the current transaction has committed; at once where there is none.

        An iterator is read only then: facts of what is rolled back, or of what nobody reads, are never put together.
        """
        if self.is_wanted:
            transaction.on_commit(lambda: self._say_each(facts), robust=True)

    def _say_each(self, facts: Iterable[Mapping[str, object]]) -> None:
        for each in facts:
            self.say(each)


def _exc_info(error: BaseException | None) -> ExcInfo | None:
    return None if error is None else (type(error), error, error.__traceback__)


def moment(value: datetime) -> str:
    """A time as every line writes it: RFC 3339 with milliseconds."""
    return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _word(value: object) -> str:
    """A value without a character that would end it, or the line, early."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(_word(each) for each in value)
    text = moment(value) if isinstance(value, datetime) else str(value)
    if _PLAIN.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
