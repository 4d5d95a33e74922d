"""Who gets a mail for each notice, and who gets a list: nobody is mailed in a storm."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from deliveries.conf import conf
from deliveries.mail import send_mail
from deliveries.models import Notice

SINGLE_MAILS: Final = 3
"""Notices that wait for one recipient: so many are mails of their own, more are one list."""

LISTED: Final = 50
"""A list shows this many; the rest is a number."""

LIST_EVERY: Final = timedelta(minutes=10)

OPERATORS: Final = "operators_mailed_at"
OWNER: Final = "owner_mailed_at"


@dataclass(frozen=True, slots=True)
class Mailed:
    """Notices that one mail told, and whether it was handed over."""

    notices: Sequence[Notice]
    is_sent: bool


def mail_operators(notices: Sequence[Notice], now: datetime) -> Iterator[Mailed]:
    """Mail the operators; what has to wait for a list is not part of what comes back."""
    times = Notice.objects.filter(operators_mailed_at__gt=now - timedelta(hours=1)).values_list(OPERATORS, flat=True)
    return _mail(conf().operators, notices, list(times.distinct()), now)


def mail_owner(owner: str, notices: Sequence[Notice], now: datetime) -> Iterator[Mailed]:
    """The same for the owner of endpoints."""
    told = Notice.objects.filter(owner_email=owner, owner_mailed_at__gt=now - timedelta(hours=1))
    return _mail([owner], notices, list(told.values_list(OWNER, flat=True).distinct()), now)


def _mail(
    recipients: Sequence[str], notices: Sequence[Notice], mailed_at: Sequence[datetime | None], now: datetime
) -> Iterator[Mailed]:
    """All notices of one mail get the same time, so the times of an hour are its mails."""
    times = [at for at in mailed_at if at is not None]
    is_storm = len(times) + min(len(notices), SINGLE_MAILS) > conf().notice_mails_per_hour
    if is_storm and times and max(times) > now - LIST_EVERY:
        return
    for together in [notices] if is_storm or len(notices) > SINGLE_MAILS else [[notice] for notice in notices]:
        subject, text = _words(together)
        yield Mailed(together, send_mail(recipients, f"[Holdfast] {subject}", text))


def _words(notices: Sequence[Notice]) -> tuple[str, str]:
    if len(notices) == 1:
        return notices[0].title, notices[0].text
    lines = [f"{notice.created_at:%Y-%m-%d %H:%M} UTC  {notice.title}" for notice in notices[:LISTED]]
    if len(notices) > LISTED:
        lines.append(f"… and {len(notices) - LISTED} more.")
    return f"{len(notices)} notices", "\n".join([*lines, "", "The admin has each of them in full, under Notices."])
