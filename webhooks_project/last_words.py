"""What Celery says when a signal stops a worker, as a line of JSON.

A signal may interrupt a line of the log half written, so Celery writes past the log, in text (`celery.apps.worker`,
`safe_say`). So does this, by one call of the operating system, but in the form of all other lines.
"""

import logging
import os
import sys
from typing import TextIO

from celery.apps import worker

from journal.json_lines import JsonLines

_formatter = JsonLines()


def say(message: str, stream: TextIO | None = sys.__stderr__) -> None:
    """Write the message now. Takes no lock and touches no buffer."""
    record = logging.LogRecord("celery.apps.worker", logging.WARNING, "", 0, message.strip(), (), None)
    if stream is not None:
        os.write(stream.fileno(), f"{_formatter.format(record)}\n".encode())


def install() -> None:
    """Take the place of Celery's own words in this process."""
    worker.safe_say = say  # type: ignore[attr-defined]  # its stubs leave it out
