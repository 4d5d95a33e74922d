"""What `deliveries` knows of an endpoint, for `endpoint show`: its pace with the reason, and what waits or was lost."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from redis import RedisError

from deliveries.models import EndpointHealth
from deliveries.pacing import Flow, describe
from deliveries.watch.certificates import certificate_of
from deliveries.watch.figures import backlog, of_endpoint
from deliveries.watch.probing import probing_of
from endpoints.health import Level, Sign
from endpoints.models import Endpoint


def traffic(endpoint: Endpoint) -> dict[str, Any]:
    """Figures and sentences; the pace is unknown while Redis is away."""
    waiting = backlog(endpoint.pk)
    classes = sorted(waiting.dead_letters_by_class.items())
    counts: dict[str, Any] = {
        "deliveries_waiting": waiting.pending,
        "open_dead_letters": waiting.open_dead_letters,
        "open_dead_letters_by_class": [f"{name} {count}" for name, count in classes],
        "oldest_open_dead_letter_seconds": waiting.oldest_open_dead_letter_seconds,
    }
    counts |= _health(endpoint)
    try:
        flow = describe([endpoint.pk])[endpoint.pk]
    except RedisError:
        return {"pace": "Unknown: Redis does not answer."} | counts
    return _pace(flow, endpoint.rate_limit_per_second) | counts


def _health(endpoint: Endpoint) -> dict[str, Any]:
    health = EndpointHealth.objects.filter(endpoint=endpoint).first()
    now = timezone.now()
    hour = of_endpoint(endpoint.pk, now - timedelta(hours=1), now)
    verdict = {
        "health_level": health.level if health else Level.UNKNOWN.value,
        "health_score": health and health.score,
        "health_sign": health.sign if health else Sign.NONE.value,
        "health_reason": health.reason if health else "",
        "last_success_at": health and health.last_success_at and health.last_success_at.isoformat(),
    }
    figures = {
        "attempts_last_hour": hour.attempts,
        "success_rate_last_hour": hour.success_rate,
        "retry_rate_last_hour": hour.retry_rate,
        "auth_failure_rate_last_hour": hour.auth_failure_rate,
        "throttling_rate_last_hour": hour.throttling_rate,
        "latency_p95_ms_last_hour": hour.latency_ms["p95"],
        "end_to_end_p95_ms_last_hour": hour.latency_end_to_end_ms["p95"],
    }
    probing = probing_of(endpoint)
    probe = {
        "next_probe_at": probing and probing.next_at and probing.next_at.isoformat(),
        "next_probe": probing.sentence if probing else "",
    }
    known = certificate_of(endpoint)
    certificate = {
        "certificate_ends_at": known and known.ends_at.isoformat(),
        "certificate_seen_at": known and known.seen_at.isoformat(),
    }
    return verdict | probe | certificate | figures


def _pace(flow: Flow, limit: float | None) -> dict[str, Any]:
    return {
        "pace": flow.sentence(limit),
        "circuit": flow.circuit,
        "failures_in_a_row": flow.failures_in_a_row,
        "rate_now_per_second": flow.rate_now(limit),
        "held_for_seconds": flow.wait_seconds or None,
        "ramp_reason": flow.ramp_reason if flow.ramp_seconds is not None else "",
        "queue": flow.queue,
        "being_drained": flow.is_draining,
    }
