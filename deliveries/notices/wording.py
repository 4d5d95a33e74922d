"""What is said: drafts of notices from facts. Endpoints are named by number and host; no path, query or secret."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from deliveries.models.notice import NoticeKind
from journal import scrubbed

TITLE_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class About:
    """An endpoint as a notice tells of it. `held` is a count in words."""

    id: int
    host: str
    tenant: str
    owner_email: str
    held: str
    last_error: str
    last_success_at: datetime | None


@dataclass(frozen=True, slots=True)
class Draft:
    """A notice that is not written yet. `lasts`: the trouble stands until somebody ends it."""

    kind: NoticeKind
    subject: str
    title: str
    text: str
    facts: dict[str, Any] = field(default_factory=dict)
    endpoint_id: int | None = None
    owner_email: str = ""
    threshold: int | None = None
    lasts: bool = False


_PROBED: Final = "Only now and then one delivery is tried by itself: when that arrives, the endpoint is enabled."


def of_endpoint(
    kind: NoticeKind, about: About, news: str, reason: str, advice: Sequence[str] = (), *, lasts: bool = False
) -> Draft:
    """A notice about an endpoint, to its owner too: what happened and why, how it stood, what is held, what to do."""
    reason = scrubbed(reason)
    last_error = scrubbed(about.last_error)
    lines = [
        f"Endpoint {about.id} at {about.host} {news}.",
        "",
        f"Reason: {reason}",
        *([f"Last error: {last_error}"] if last_error else []),
        f"Last success: {f'{about.last_success_at:%Y-%m-%d %H:%M} UTC' if about.last_success_at else 'none on record'}",
        f"Waiting for it: {about.held}",
        *(["", *advice] if advice else []),
    ]
    facts = {
        "endpoint": {"id": about.id, "host": about.host, "tenant": about.tenant},
        "reason": reason,
        "last_error": last_error,
        "last_success_at": about.last_success_at.isoformat() if about.last_success_at else None,
        "held": about.held,
    }
    title = f"Endpoint {about.id} ({about.host}) {news}"[:TITLE_LENGTH]
    return Draft(kind, f"{kind}:{about.id}", title, "\n".join(lines), facts, about.id, about.owner_email, lasts=lasts)


def warning(about: About, reason: str) -> Draft:
    advice = ["It is still being sent to. Should it get worse it will be disabled; nothing is lost by that."]
    return of_endpoint(NoticeKind.WARNING, about, "fails too often", reason, advice, lasts=True)


def recovered(about: About, reason: str) -> Draft:
    return of_endpoint(NoticeKind.RECOVERED, about, "has recovered", reason)


def auth_spike(about: About, reason: str) -> Draft:
    advice = [
        "It was well until now. Was its signing secret rotated, or an access rule changed?",
        f"Give the receiver the secret that is live (manage.py rotate_secret {about.id} makes a new one),",
        "then redrive the dead letters of class auth.",
    ]
    return of_endpoint(NoticeKind.AUTH_SPIKE, about, "refuses our credentials", reason, advice, lasts=True)


def certificate(about: About, ends_at: datetime, seen_at: datetime, now: datetime) -> Draft:
    days = max((ends_at - now).days, 0)
    left = f"in {days} day{'' if days == 1 else 's'}" if ends_at > now else "it is over"
    reason = (
        f"It is valid until {ends_at:%Y-%m-%d %H:%M} UTC ({left}), as last seen at {seen_at:%Y-%m-%d %H:%M} UTC. "
        "From then on nothing can be sent to it: deliveries are tried again until their policy gives them up."
    )
    advice = ["Renew it there; here nothing is to be done. This is told once."]
    news = f"has a TLS certificate that ends on {ends_at:%Y-%m-%d}"
    return of_endpoint(NoticeKind.CERTIFICATE, about, news, reason, advice, lasts=True)


def disabled(about: About, reason: str, archived_after_days: float, *, is_probed: bool = False) -> Draft:
    advice = [
        "Nothing is sent to it until it is enabled; what is published meanwhile is recorded and held.",
        *([_PROBED] if is_probed else []),
        f"Mend it, then enable it in the admin or with: manage.py endpoint enable {about.id}",
        "What is held then goes out at a growing pace. What passes its deadline becomes a dead letter, to be redriven.",
        f"After {archived_after_days:g} days without that it is archived, and what it holds becomes dead letters.",
    ]
    return of_endpoint(NoticeKind.DISABLED, about, "is disabled", reason, advice)


def enabled(about: About, reason: str) -> Draft:
    advice = ["What was held goes out at a growing pace. It is judged by what happens from now on."]
    return of_endpoint(NoticeKind.ENABLED, about, "is enabled again", reason, advice)


def archived(about: About, reason: str) -> Draft:
    advice = [
        "It gets no more events, and it does not come back: make a new endpoint if it is wanted again.",
        "What waited for it becomes dead letters of class archived. This is the last notice about it.",
    ]
    return of_endpoint(NoticeKind.ARCHIVED, about, "is archived", reason, advice)


def dead_letter_depth(depth: int, threshold: int, classes: dict[str, int]) -> Draft:
    listed = ", ".join(f"{count:,} {name}" for name, count in sorted(classes.items(), key=lambda pair: -pair[1]))
    return Draft(
        NoticeKind.DEAD_LETTERS,
        NoticeKind.DEAD_LETTERS,
        f"{threshold:,} or more dead letters are open",
        f"{depth:,} dead letters are open: {listed}.\n\nFind the cause, then redrive or discard them.",
        {"open": depth, "threshold": threshold, "classes": classes},
        threshold=threshold,
        lasts=True,
    )


def old_dead_letter(age_seconds: float, days: float) -> Draft:
    return Draft(
        NoticeKind.OLD_DEAD_LETTER,
        NoticeKind.OLD_DEAD_LETTER,
        f"A dead letter has been open for more than {days:g} days",
        f"The oldest open dead letter is {age_seconds / 86_400:.1f} days old. Redrive or discard it.",
        {"oldest_seconds": round(age_seconds)},
        lasts=True,
    )


def unreachable(spared: int, judged: int) -> Draft:
    return Draft(
        NoticeKind.UNREACHABLE,
        NoticeKind.UNREACHABLE,
        "Many endpoints cannot be reached at once",
        f"{spared} of {judged} endpoints fail without an answer. None is disabled for it: look at this side's network, "
        "DNS and proxy first.",
        {"unreachable": spared, "judged": judged},
        lasts=True,
    )


def stuck(problems: Sequence[str]) -> Draft:
    return Draft(
        NoticeKind.STUCK,
        NoticeKind.STUCK,
        "The pipeline does not move as it should",
        "\n".join([*problems, "", "manage.py pipeline_status says more. Nothing is lost by waiting."]),
        {"problems": list(problems)},
        lasts=True,
    )


def moving(stuck_since: datetime) -> Draft:
    return Draft(
        NoticeKind.MOVING,
        NoticeKind.MOVING,
        "The pipeline moves again",
        f"What was wrong since {stuck_since:%Y-%m-%d %H:%M} UTC is over.",
        {"stuck_since": stuck_since.isoformat()},
    )
