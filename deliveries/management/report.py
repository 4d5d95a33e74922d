"""What a command that moved rows prints."""

import json
from collections import Counter
from typing import Any

from deliveries.models import Operation


def operation_text(operation: Operation, *, as_json: bool) -> str:
    """An operation that was done."""
    fields: dict[str, Any] = {
        "operation": operation.pk,
        "kind": operation.kind,
        "moved": operation.moved,
        "refused": operation.refused,
        "selection": operation.selection,
    }
    if as_json:
        return json.dumps(fields)
    return (
        f"{operation.kind.capitalize()} {operation.pk}: {operation.moved} moved, {operation.refused} refused. "
        f"{operation.selection}"
    )


def preview_text(kind: str, refusals: Counter[str], figures: dict[str, int], *, as_json: bool) -> str:
    """An operation that would be done. `figures` name what it would move."""
    if as_json:
        return json.dumps({"dry_run": True, "kind": kind, **figures, "refused": refusals.total(), "why": refusals})
    lines = [f"Dry run, nothing is changed. A {kind} would find:"]
    lines += [f"  {count} {name.replace('_', ' ')}" for name, count in figures.items()]
    lines += [f"  {count} left alone: {why}" for why, count in refusals.most_common()]
    return "\n".join(lines)
