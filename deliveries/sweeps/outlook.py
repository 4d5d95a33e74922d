"""What each sweep would find now, counted without touching anything. For people: a count may read many rows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from django.db.models import Q
from django.db.models.functions import Now

from deliveries.conf import conf
from deliveries.models import DeadLetter, Delivery, Notice, NoticeKind
from deliveries.notices.standing import endpoint_subject, standing
from deliveries.statuses import Status
from deliveries.sweeps.probes import RUNG_PER_SWEEP
from deliveries.sweeps.unannounced import AGE_SECONDS
from deliveries.transitions.probes import due as due_probes
from deliveries.watch.certificates import ending_certificates
from deliveries.watch.clock import database_now
from deliveries.watch.records import records
from deliveries.watch.survey import survey
from endpoints.health import Level, judge
from endpoints.models import State


def due() -> int:
    """Endpoints with due deliveries."""
    waiting = Delivery.objects.filter(status=Status.PENDING, next_attempt_at__lte=Now(), endpoint__state=State.ACTIVE)
    return waiting.order_by().values("endpoint").distinct().count()


def lapsed() -> int:
    """Deliveries whose lease ran out."""
    return Delivery.objects.filter(status=Status.SENDING, lease_expires_at__lte=Now()).count()


def expired() -> int:
    """Deliveries past their deadline or of an archived endpoint."""
    hopeless = Q(deadline_at__lte=Now()) | Q(endpoint__state=State.ARCHIVED)
    return Delivery.objects.filter(hopeless, status=Status.PENDING).count()


def unannounced() -> int:
    """Dead letters that nobody was told about."""
    old = Now() - timedelta(seconds=AGE_SECONDS)
    return DeadLetter.objects.filter(announced_at__isnull=True, created_at__lt=old).count()


def health() -> int:
    """Endpoints whose level would change."""
    looked = ((each.before, judge(each.record, each.thresholds, each.before).level) for each in records(database_now()))
    return sum(after not in (Level.UNKNOWN, before) for before, after in looked)


def probes() -> int:
    """Disabled endpoints whose probe is due."""
    return len(due_probes(conf().thresholds.probe_minutes, database_now(), RUNG_PER_SWEEP))


def certificates() -> int:
    """Endpoints whose TLS certificate ends soon and whose owners have not been told."""
    told = standing(NoticeKind.CERTIFICATE)
    ending = ending_certificates(database_now())
    return sum(
        endpoint_subject(NoticeKind.CERTIFICATE, each.endpoint_id) not in told for each in ending if each.is_news
    )


def alarms() -> int:
    """What is wrong with the pipeline now."""
    return len(survey().problems)


def notices() -> int:
    """Notices that not every channel has."""
    return Notice.objects.filter(done_at=None).count()


COUNTS: Final[dict[str, Callable[[], int]]] = {
    "due": due,
    "health": health,
    "probes": probes,
    "certificates": certificates,
    "alarms": alarms,
    "notices": notices,
    "lapsed": lapsed,
    "expired": expired,
    "unannounced": unannounced,
}
