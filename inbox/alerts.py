"""Alerts: a mail to the operators about received events that were given up, many in one.

Marked before mailed, by a guarded UPDATE, so that two sweeps at once do not mail twice; a mail that could not be handed
over takes its marks back. A mail names sources, types and classes only: a reason may quote the event.
"""

import logging
import smtplib
from collections import Counter
from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import connection

from inbox.conf import conf
from inbox.models import DeadLetter

logger = logging.getLogger(__name__)

LETTERS_TOGETHER: Final = 1000
"""Dead letters that one mail is about at most."""

LETTERS_SHOWN: Final = 20
"""A mail lists this many; the rest is a number, for everything can be looked up in the admin."""

# Rows that another sweep is marking at this moment are skipped: they are its to mail.
_MARK = """
WITH waiting AS (
    SELECT id FROM inbox_deadletter WHERE announced_at IS NULL ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE inbox_deadletter letter SET announced_at = now()
FROM waiting WHERE letter.id = waiting.id AND letter.announced_at IS NULL
RETURNING letter.id
"""


def announce() -> int:
    """Tell the operators about dead letters that nobody was told about; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [LETTERS_TOGETHER])
        ids = [row[0] for row in cursor.fetchall()]
    if not ids:
        return 0
    letters = DeadLetter.objects.filter(pk__in=ids).select_related("source").order_by("pk")
    if _mail(*_words(list(letters))):
        return len(ids)
    DeadLetter.objects.filter(pk__in=ids).update(announced_at=None)
    return 0


def _mail(subject: str, text: str) -> bool:
    """False when nobody got it and a later try may succeed: repeating it would mail the others again."""
    operators = conf().operators
    told = 0
    for recipient in operators:
        try:
            told += EmailMessage(subject, text, settings.DEFAULT_FROM_EMAIL, [recipient]).send()
        except (smtplib.SMTPException, OSError) as error:
            logger.warning("a mail to %s could not be handed over: %s", recipient, error)
    return told > 0 or not operators


def _words(letters: Sequence[DeadLetter]) -> tuple[str, str]:
    top = Counter(letter.failure_class for letter in letters).most_common()
    number = len(letters)
    plural = "" if number == 1 else "s"
    subject = f"[Holdfast] {number} dead letter{plural} of the inbox: {', '.join(name for name, _ in top)}"
    lines = [
        f"{number} received event{plural} could not be processed and will not be tried again.",
        "",
        *(f"{count} {name}" for name, count in top),
        "",
        *(_line(letter) for letter in letters[:LETTERS_SHOWN]),
    ]
    if number > LETTERS_SHOWN:
        lines.append(f"… and {number - LETTERS_SHOWN} more.")
    lines += ["", "Once the cause is mended, redrive them in the admin or with: manage.py inbox redrive"]
    return subject, "\n".join(lines)


def _line(letter: DeadLetter) -> str:
    return f"#{letter.pk} {letter.event_type or 'no type'} from {letter.source.slug}: {letter.failure_class}"
