"""Watch what no endpoint is to blame for: the depth and age of the dead letters, and whether the pipeline moves."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from deliveries.models import NoticeKind
from deliveries.notices import standing, wording
from deliveries.watch import heartbeats
from deliveries.watch.clock import database_now
from deliveries.watch.figures import Backlog, backlog
from deliveries.watch.survey import survey

DEPTHS: Final = (10, 100, 1_000)
OLD_DAYS: Final = 3.0

LASTS: Final = timedelta(seconds=90)
"""A standstill that the next look does not find any more was a restart, and nobody is told."""


@dataclass(slots=True)
class AlarmsSwept:
    """Notices written."""

    told: int = 0


def sweep(now: datetime | None = None) -> AlarmsSwept:
    """Look once. `now` (aware) is for tests; by default it is the database's."""
    now = now or database_now()
    waiting = backlog()
    told = [_depth(waiting, now), _age(waiting, now), _standstill(now)]
    heartbeats.note("alarms")
    return AlarmsSwept(sum(told))


def _depth(waiting: Backlog, now: datetime) -> bool:
    """News is each threshold crossed upwards. It counts as left when less than half of it is open."""
    depth = waiting.open_dead_letters
    crossed = max((each for each in DEPTHS if each <= depth), default=0)
    notice = standing.stands(NoticeKind.DEAD_LETTERS)
    told = notice.threshold or 0 if notice else 0
    if crossed > told:
        standing.end([NoticeKind.DEAD_LETTERS], now)
        return standing.tell(wording.dead_letter_depth(depth, crossed, waiting.dead_letters_by_class), now)
    if notice and depth < told / 2:
        if crossed:
            standing.lower(notice, crossed)
        else:
            standing.end([NoticeKind.DEAD_LETTERS], now)
    return False


def _age(waiting: Backlog, now: datetime) -> bool:
    age = waiting.oldest_open_dead_letter_seconds
    if age is not None and age > OLD_DAYS * 86_400:
        return standing.tell(wording.old_dead_letter(age, OLD_DAYS), now)
    standing.end([NoticeKind.OLD_DEAD_LETTER], now)
    return False


def _standstill(now: datetime) -> bool:
    problems = survey().problems
    if problems:
        return standing.tell(wording.stuck(problems), now, wait=LASTS)
    notice = standing.stands(NoticeKind.STUCK)
    if notice is None or not standing.end([NoticeKind.STUCK], now):
        return False
    # Who was not told that it stood still needs no news that it moves.
    return notice.logged_at is not None and standing.tell(wording.moving(notice.created_at), now)
