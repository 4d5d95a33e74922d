"""Rows in columns (pure)."""

from collections.abc import Sequence

GAP = "   "


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """The lines of a table; columns whose index is in `right` are set flush right."""
    cells = [header, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [_line(row, widths, right) for row in cells]
    return [lines[0], GAP.join("─" * width for width in widths), *lines[1:]]


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    cells = zip(row, widths, strict=True)
    return GAP.join(
        cell.rjust(width) if column in right else cell.ljust(width) for column, (cell, width) in enumerate(cells)
    ).rstrip()
