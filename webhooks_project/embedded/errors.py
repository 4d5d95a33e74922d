"""What can go wrong with an embedded server, in words for the person who typed the command."""

from pathlib import Path

TAIL_LINES = 15


class ServerNotStarted(RuntimeError):
    """An embedded server did not come up; the message carries the end of its log."""

    @classmethod
    def with_log(cls, sentence: str, log: Path) -> "ServerNotStarted":
        """Build the error from one sentence and the last lines of the server's log, when there is one."""
        lines = log.read_text(errors="replace").splitlines()[-TAIL_LINES:] if log.exists() else []
        return cls("\n".join([f"{sentence} Its log is {log}:", *lines]) if lines else sentence)
