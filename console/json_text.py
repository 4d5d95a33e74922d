"""JSON as people type and read it, without a number being rounded on the way."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_INDENT = "  "


class UnusableJSON(ValueError):
    """The text is not JSON, or its meaning would change by being stored; the message says where."""


def parse(text: str) -> Any:
    """Read typed JSON. Raises UnusableJSON for a fault, a key given twice, or a number a float cannot hold exactly."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise UnusableJSON(f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise UnusableJSON("This is nested too deeply.") from None
    except UnusableJSON:
        raise
    except ValueError as error:
        # An integer of thousands of digits.
        raise UnusableJSON(f"This holds a number that cannot be read: {error}.") from None


def indented(text: str) -> str:
    """Stored JSON with line breaks and indentation; every token as it stands, since parsing could change numbers."""
    return "".join(_laid_out(_TOKEN.findall(text)))


def _laid_out(tokens: list[str]) -> Iterator[str]:
    depth = 0
    for token, before in zip(tokens, ["", *tokens], strict=False):
        if token in "}]":
            depth -= 1
            yield "" if before in "{[" else f"\n{_INDENT * depth}"
        elif before and before in "{[,":
            yield f"\n{_INDENT * depth}"
        yield ": " if token == ":" else token
        if token in "{[":
            depth += 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise UnusableJSON(f"The key {next(name for name in names if names.count(name) > 1)!r} is given twice.")
    return members


def _float(text: str) -> float:
    value = float(text)
    if Decimal(text) != Decimal(repr(value)):
        raise UnusableJSON(f'The number {text:.60} has more digits than can be kept: write it as text, "{text:.60}".')
    return value


def _constant(name: str) -> Any:
    raise UnusableJSON(f"{name} is no JSON number: write null or text.")
