"""Alerts: one log line a dead letter, and one mail a recipient and batch, to the operators and the endpoint's owner.

Whoever comes first takes all that wait, so that a thousand dead letters are a few mails. Marked before mailed, by a
guarded UPDATE, so that two consumers do not mail twice; a mail that could not be handed over takes its mark back and
the sweep repeats it. A mail names host and endpoint only: the path or the query of a URL may be a credential, and the
body is the tenant's.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from django.db import connection

from deliveries import lines
from deliveries.conf import conf
from deliveries.letters import dead_letter_mail
from deliveries.mail import send_mail
from deliveries.models import DeadLetter
from journal import scrubbed

LETTERS_TOGETHER: Final = 1000
"""Dead letters one run takes beyond those it was called for."""

# Rows that another consumer is marking at this moment are skipped: they are its to mail.
_MARK = """
WITH waiting AS (
    SELECT id FROM deliveries_deadletter
    WHERE announced_at IS NULL AND (id = ANY(%s) OR id IN (
        SELECT id FROM deliveries_deadletter WHERE announced_at IS NULL ORDER BY id LIMIT %s))
    FOR UPDATE SKIP LOCKED
)
UPDATE deliveries_deadletter letter SET announced_at = now()
FROM waiting WHERE letter.id = waiting.id AND letter.announced_at IS NULL
RETURNING letter.id
"""
_UNMARK = "UPDATE deliveries_deadletter SET announced_at = NULL WHERE id = ANY(%s)"


def announce(dead_letter_ids: Collection[int]) -> int:
    """Tell about these dead letters and others that wait, each once; returns about how many it told."""
    letters = _mark(dead_letter_ids)
    for letter in letters:
        _log(letter)
    unsent = _mail_owners(letters)
    rest = [letter for letter in letters if letter.pk not in unsent]
    # The operators come last, so that a repeat for an owner's mail server does not mail them again.
    if rest and not _mail(conf().operators, rest):
        unsent.update(letter.pk for letter in rest)
    _unmark(unsent)
    return len(letters) - len(unsent)


def _mark(ids: Collection[int]) -> Sequence[DeadLetter]:
    with connection.cursor() as cursor:
        cursor.execute(_MARK, [list(ids), LETTERS_TOGETHER])
        won = [row[0] for row in cursor.fetchall()]
    rows = DeadLetter.objects.filter(pk__in=won).select_related("endpoint").order_by("pk")
    return list(rows.defer("body", "headers", "attempts", "endpoint__headers"))


def _unmark(ids: Collection[int]) -> None:
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_UNMARK, [list(ids)])


def _log(letter: DeadLetter) -> None:
    lines.LETTER_ANNOUNCED.say(
        {
            "dead_letter_id": letter.pk,
            "delivery_id": letter.delivery_id,
            "endpoint_id": letter.endpoint_id,
            "host": letter.endpoint.host,
            "event_type": letter.event_type,
            "failure_class": letter.failure_class,
            "reason": scrubbed(letter.reason),
        }
    )


def _mail_owners(letters: Iterable[DeadLetter]) -> set[int]:
    """Mail each owner about their own letters; returns the ids of those whose mail has to be repeated."""
    owned: dict[str, list[DeadLetter]] = defaultdict(list)
    for letter in letters:
        if letter.endpoint.owner_email:
            owned[letter.endpoint.owner_email].append(letter)
    return {letter.pk for owner, theirs in owned.items() if not _mail([owner], theirs) for letter in theirs}


def _mail(recipients: Collection[str], letters: Sequence[DeadLetter]) -> bool:
    return send_mail(recipients, *dead_letter_mail(letters))
