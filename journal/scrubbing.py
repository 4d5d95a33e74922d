"""Texts that others wrote, made fit to be shown. Pure."""

import re
from typing import Final

_URL_TAIL: Final = re.compile(r"(https?://[^\s/?#]+)[/?#]\S*")


def scrubbed(text: str) -> str:
    """A text without the path and the query of any URL in it: either may be a credential."""
    return _URL_TAIL.sub(r"\1/…", text)
