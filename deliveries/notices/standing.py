"""Raise a notice once, and end it: a guarded INSERT and a guarded UPDATE, each saying whether it was the one."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F

from deliveries import lines
from deliveries.models import Notice, NoticeKind
from deliveries.notices.wording import Draft


def tell(draft: Draft, now: datetime, *, wait: timedelta = timedelta(0)) -> bool:
    """Write the notice, unless this trouble of this subject stands already; says whether it was written.

    In the caller's transaction. A trouble that ends within `wait` is told to nobody.
    """
    notice = Notice(
        kind=draft.kind,
        subject=draft.subject,
        endpoint_id=draft.endpoint_id,
        threshold=draft.threshold,
        title=draft.title,
        text=draft.text,
        facts=draft.facts,
        owner_email=draft.owner_email,
        created_at=now,
        ended_at=None if draft.lasts else now,
        not_before=now + wait if wait else None,
    )
    if draft.lasts and stands(draft.subject):
        return False
    try:
        with transaction.atomic():
            notice.save(force_insert=True)
    except IntegrityError:
        # Two looks at once: the partial unique index lets one of them in.
        return False
    written = {"notice_id": notice.pk, "kind": notice.kind, "subject": notice.subject}
    lines.NOTICE_WRITTEN.say_on_commit([written | {"endpoint_id": notice.endpoint_id, "title": notice.title}])
    return True


def end(subjects: Collection[str], now: datetime) -> int:
    """The trouble of these subjects is over; returns how many stood."""
    return Notice.objects.filter(subject__in=subjects, ended_at=None).update(ended_at=now)


def standing(kind: NoticeKind) -> set[str]:
    """The subjects for which a notice of this kind stands."""
    return set(Notice.objects.filter(kind=kind, ended_at=None).values_list("subject", flat=True))


def stands(subject: str) -> Notice | None:
    """The notice that stands for this subject."""
    return Notice.objects.filter(subject=subject, ended_at=None).first()


def lower(notice: Notice, threshold: int) -> None:
    """Less than half of what it told is left: from now on the next crossing of a higher threshold is news."""
    Notice.objects.filter(pk=notice.pk, threshold=F("threshold"), ended_at=None).update(threshold=threshold)


def endpoint_subject(kind: NoticeKind, endpoint_id: int) -> str:
    """As the drafts name it."""
    return f"{kind}:{endpoint_id}"
