"""Recipients: an endpoint as the delivery path needs it, read afresh for every batch so that a change holds at once."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Prefetch

from deliveries.conf import conf
from endpoints.models import Endpoint, RetryPolicy, SigningSecret, State
from endpoints.policies import Policy


@dataclass(frozen=True, slots=True)
class Recipient:
    """What one attempt must know of its endpoint. `secrets` are live ones, newest first; times are seconds."""

    id: int
    url: str
    host: str
    state: str
    policy: Policy
    timeout_seconds: float
    max_concurrency: int
    rate_limit_per_second: float | None
    secrets: tuple[str, ...] = field(repr=False)
    headers: dict[str, str] = field(repr=False)
    ca_certificate: str = ""
    ordered: bool = False
    dead_letter_blocks: bool = True

    @property
    def is_open(self) -> bool:
        """Whether anything may be sent: paused, disabled and archived endpoints hold their deliveries."""
        return self.state == State.ACTIVE

    def shown_headers(self, event_id: str) -> dict[str, str]:
        """The request's headers for a dead letter: configured values are hidden, as any may be a credential."""
        return {
            "content-type": "application/json",
            "user-agent": conf().user_agent,
            "webhook-id": event_id,
            **dict.fromkeys(self.headers, "(hidden)"),
        }


def load_recipients(endpoint_ids: Collection[int], now: datetime) -> dict[int, Recipient]:
    """Read endpoints with their policies and the secrets live at `now`, in three queries whatever their number."""
    endpoints = Endpoint.objects.filter(pk__in=endpoint_ids).select_related("retry_policy")
    secrets = Prefetch("signing_secrets", queryset=SigningSecret.objects.live(now), to_attr="live_secrets")
    rows = list(endpoints.prefetch_related(secrets))
    default = RetryPolicy.default() if any(row.retry_policy_id is None for row in rows) else None
    return {row.pk: _recipient(row, row.retry_policy or default) for row in rows}


def _recipient(row: Endpoint, policy: RetryPolicy | None) -> Recipient:
    assert policy is not None
    return Recipient(
        id=row.pk,
        url=row.url,
        host=row.host,
        state=row.state,
        policy=policy.as_policy(),
        timeout_seconds=float(policy.timeout_seconds or row.timeout_seconds),
        max_concurrency=1 if row.ordered else row.max_concurrency,
        rate_limit_per_second=row.rate_limit_per_second,
        secrets=tuple(secret.secret for secret in row.live_secrets),  # type: ignore[attr-defined]
        headers=dict(row.headers),
        ca_certificate=row.ca_certificate,
        ordered=row.ordered,
        dead_letter_blocks=row.dead_letter_blocks,
    )
