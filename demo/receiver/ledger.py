"""Keeps every request in memory and writes it to the log before it is answered."""

import json
import os
from collections import deque
from pathlib import Path

from demo.receiver.records import Record

_encode = json.JSONEncoder(separators=(",", ":")).encode


class Ledger:
    """The requests received, newest last, and their log.

    ``keep`` bounds how many stay in memory (None: all); the log has all of them in any case. Lines of one turn of the
    event loop go out in one write, and only then are the answers sent: no sender saw an answer that is not in the log.
    """

    def __init__(self, log: Path | None = None, *, keep: int | None = None, log_bodies: bool = False) -> None:
        self.records: deque[Record] = deque(maxlen=keep)
        self.received = 0
        self.broken: dict[str, int] = {}
        self._log_bodies = log_bodies
        self._lines: list[str] = []
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log else None

    def add(self, record: Record) -> None:
        """Keep a request and queue its log line."""
        self.received += 1
        self.records.append(record)
        if self._log is not None:
            self._lines.append(_encode(record.line(self._log_bodies)))

    def add_broken(self, reason: str, note: dict[str, object]) -> None:
        """Count bytes that never became a request: malformed, or cut short by the peer."""
        self.broken[reason] = self.broken.get(reason, 0) + 1
        self.note({"broken": reason, **note})

    def note(self, line: dict[str, object]) -> None:
        """Queue a line that is not a request, such as a change of behaviour."""
        if self._log is not None:
            self._lines.append(_encode(line))

    def flush(self) -> None:
        """Hand all queued lines to the kernel; they outlive this process from here on."""
        if self._log is None or not self._lines:
            return
        data = memoryview(("\n".join(self._lines) + "\n").encode())
        self._lines.clear()
        while data:
            data = data[os.write(self._log, data) :]

    def forget(self) -> None:
        """Drop what is in memory; the log stays."""
        self.records.clear()
        self.broken.clear()

    def close(self) -> None:
        """Write what is queued and close the log."""
        self.flush()
        if self._log is not None:
            os.close(self._log)
            self._log = None
