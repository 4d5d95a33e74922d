"""Headings and sentences on standard output: bold on a terminal, plain elsewhere."""

import io
import os
import sys
import textwrap
from collections.abc import Iterable

WIDTH = 100


def prepare() -> None:
    """Let an output that knows no box characters show question marks instead of failing; call once, first."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def is_terminal() -> bool:
    """Whether lines can be drawn over: a terminal that is not a dumb one."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def heading(title: str) -> None:
    """Begin a step."""
    bold, plain = ("\x1b[1m", "\x1b[0m") if is_terminal() and "NO_COLOR" not in os.environ else ("", "")
    line(f"\n{bold}{title}{plain}")


def say(text: str) -> None:
    """Say something about the step, indented and wrapped."""
    for wrapped in textwrap.wrap(text, WIDTH - 3):
        line(f"   {wrapped}")


def lines(texts: Iterable[str]) -> None:
    """Print lines as they are, indented."""
    for text in texts:
        line(f"   {text}")


def line(text: str) -> None:
    """Print a line as it is, at once."""
    print(text, flush=True)
