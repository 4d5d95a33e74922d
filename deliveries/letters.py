"""The mail about dead letters, in words."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from deliveries.models import DeadLetter

LETTERS_SHOWN: Final = 20
"""A mail lists this many; the rest is a number, for everything can be looked up in the admin."""


def dead_letter_mail(letters: Sequence[DeadLetter]) -> tuple[str, str]:
    """Subject and text of one mail about these dead letters. Names endpoints by number and host only."""
    classes = Counter(letter.failure_class for letter in letters)
    number = len(letters)
    plural = "" if number == 1 else "s"
    subject = f"[Holdfast] {number} dead letter{plural}: {', '.join(name for name, _ in classes.most_common())}"
    lines = [
        f"{number} webhook deliver{'y' if number == 1 else 'ies'} could not be made and will not be tried again.",
        "",
        *(f"{count} {name}" for name, count in classes.most_common()),
        "",
        *(_line(letter) for letter in letters[:LETTERS_SHOWN]),
    ]
    if number > LETTERS_SHOWN:
        lines.append(f"… and {number - LETTERS_SHOWN} more.")
    lines += ["", "Once the cause is mended, redrive them in the admin or with: manage.py redrive"]
    return subject, "\n".join(lines)


def _line(letter: DeadLetter) -> str:
    return (
        f"#{letter.pk} {letter.event_type} to endpoint {letter.endpoint_id} ({letter.endpoint.host}), "
        f"{letter.failure_class}: {letter.reason}"
    )
