"""Send what was written: to the log, to owners and operators by mail, and as operational events.

Whoever sends takes a lease first and marks each channel when it has it, so that two at once do not tell twice, and
what a crash left behind is told when the lease is over. Nothing is mailed inside a transaction; an operational event
is recorded in one with its mark.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from django.db import connection, transaction

from deliveries import lines
from deliveries.conf import conf
from deliveries.models import Notice, NoticeKind
from deliveries.notices import mails
from deliveries.publishing import publish

TOGETHER: Final = 1_000
LEASE: Final = timedelta(minutes=5)
"""After a crash it is told so much later."""

MAILING_SECONDS: Final = 120.0
"""How long a run goes on to mail owners; well within its lease."""

RETRY: Final = timedelta(minutes=1)

EVENT_PREFIX: Final = "holdfast."

_CLAIM: Final = """
WITH waiting AS (
    SELECT id FROM deliveries_notice WHERE done_at IS NULL AND (not_before IS NULL OR not_before <= %(now)s)
    ORDER BY id LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
UPDATE deliveries_notice notice SET not_before = %(until)s FROM waiting
WHERE notice.id = waiting.id AND notice.done_at IS NULL
RETURNING notice.id
"""


def send_waiting(now: datetime) -> int:
    """Send over every channel that has not had them yet; returns how many are through."""
    notices = _claim(now)
    if not notices:
        return 0
    wanted = [notice for notice in notices if not _came_to_nothing(notice)]
    _log(wanted, now)
    _publish(wanted, now)
    _mail_operators(wanted, now)
    _mail_owners(wanted, now, until=time.monotonic() + MAILING_SECONDS)
    return _finish(notices, now)


def _claim(now: datetime) -> list[Notice]:
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, {"now": now, "most": TOGETHER, "until": now + LEASE})
        ids = [row[0] for row in cursor.fetchall()]
    rows = Notice.objects.filter(pk__in=ids).select_related("endpoint").order_by("pk")
    return list(rows.defer("endpoint__headers", "endpoint__ca_certificate"))


def _came_to_nothing(notice: Notice) -> bool:
    """Whether the trouble was over before anybody was told: it was to be seen whether it lasts."""
    return notice.kind == NoticeKind.STUCK and notice.ended_at is not None and notice.logged_at is None


def _log(notices: Iterable[Notice], now: datetime) -> None:
    for notice in notices:
        if notice.logged_at is None:
            told = {"notice_id": notice.pk, "kind": notice.kind, "endpoint_id": notice.endpoint_id}
            lines.NOTICE_TOLD.say(told | {"title": notice.title})
            _mark([notice], "logged_at", now)


def _publish(notices: Iterable[Notice], now: datetime) -> None:
    for notice in notices:
        if notice.published_at is None and _is_published(notice):
            with transaction.atomic():
                publish(
                    f"{EVENT_PREFIX}{notice.kind}",
                    {"title": notice.title, "text": notice.text, **notice.facts},
                    tenant=conf().operations_tenant,
                    id=f"notice_{notice.pk}",
                    occurred_at=notice.created_at,
                )
                _mark([notice], "published_at", now)


def _is_published(notice: Notice) -> bool:
    """Trouble of an operations endpoint is not told to operations endpoints: that would be a loop."""
    tenant = conf().operations_tenant
    return bool(tenant) and (notice.endpoint is None or notice.endpoint.tenant != tenant)


def _mail_operators(notices: Iterable[Notice], now: datetime) -> None:
    waiting = [notice for notice in notices if notice.operators_mailed_at is None]
    if waiting and conf().operators:
        _mark_mailed(mails.OPERATORS, mails.mail_operators(waiting, now), now)


def _mail_owners(notices: Iterable[Notice], now: datetime, *, until: float) -> None:
    owned: dict[str, list[Notice]] = defaultdict(list)
    for notice in notices:
        if notice.owner_email and notice.owner_mailed_at is None:
            owned[notice.owner_email].append(notice)
    for owner, theirs in owned.items():
        if time.monotonic() > until:
            # A mail server that is slow to refuse must not outlast the lease: the next run goes on.
            return
        _mark_mailed(mails.OWNER, mails.mail_owner(owner, theirs, now), now)


def _mark_mailed(channel: str, mailed: Iterable[mails.Mailed], now: datetime) -> None:
    for number, mail in enumerate(mailed):
        if mail.is_sent:
            # A mail's notices share a time that no other mail of this run has: the times count the mails.
            _mark(mail.notices, channel, now + timedelta(microseconds=number))


def _mark(notices: Sequence[Notice], channel: str, at: datetime) -> None:
    """At once, so that a crash a moment later repeats nothing."""
    for notice in notices:
        setattr(notice, channel, at)
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(**{channel: at})


def _finish(notices: Iterable[Notice], now: datetime) -> int:
    done = [notice.pk for notice in notices if _is_through(notice)]
    left = [notice.pk for notice in notices if not _is_through(notice)]
    Notice.objects.filter(pk__in=done).update(done_at=now, not_before=None)
    Notice.objects.filter(pk__in=left, done_at=None).update(not_before=now + RETRY)
    return len(done)


def _is_through(notice: Notice) -> bool:
    if _came_to_nothing(notice):
        return True
    return (
        notice.logged_at is not None
        and (notice.owner_mailed_at is not None or not notice.owner_email)
        and (notice.operators_mailed_at is not None or not conf().operators)
        and (notice.published_at is not None or not _is_published(notice))
    )
