"""The examples of the documentation, cut out of it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def example(page: str, language: str, beginning: str) -> str:
    """The one block of code on a page that begins so."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if block.startswith(beginning))
    return block
