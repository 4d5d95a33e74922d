"""Recipients: an endpoint as the delivery path needs it, read afresh for every batch so that a change holds at once."""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from deliveries.conf import conf
from endpoints.models import State
from endpoints.models.endpoint import host_of
from endpoints.policies import DEFAULT_POLICY, DEFAULT_POLICY_NAME, Policy
from vault.encryption import decrypt
from vault.errors import UndecryptableValue

logger = logging.getLogger(__name__)

OUR_HEADERS = frozenset({"content-type", "webhook-id", "webhook-timestamp", "webhook-signature"})


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


# Every wake-up reads this, so it is one statement and not three of the ORM, which were half the CPU time of a drain of
# one delivery. The array is newest first.
_READ = """
SELECT endpoint.id, endpoint.url, endpoint.state, endpoint.timeout_seconds, endpoint.max_concurrency,
       endpoint.rate_limit_per_second, endpoint.headers, endpoint.ca_certificate, endpoint.ordered,
       endpoint.dead_letter_blocks,
       ARRAY(SELECT secret FROM endpoints_signingsecret WHERE endpoint_id = endpoint.id
             AND (expires_at IS NULL OR expires_at > %s) ORDER BY created_at DESC, id DESC),
       policy.name, policy.kind, policy.base_seconds, policy.cap_seconds, policy.schedule_seconds, policy.jitter,
       policy.max_attempts, policy.deadline_seconds, policy.timeout_seconds
FROM endpoints_endpoint endpoint
LEFT JOIN endpoints_retrypolicy policy
  ON policy.id = endpoint.retry_policy_id OR (endpoint.retry_policy_id IS NULL AND policy.name = %s)
WHERE endpoint.id = ANY(%s)
"""


def load_recipients(endpoint_ids: Collection[int], now: datetime) -> dict[int, Recipient]:
    """Read endpoints with their policies and the secrets live at `now`, in one query whatever their number.

    Left out, with an error in the log, are endpoints encrypted with a key that is missing now: their deliveries wait
    until it is back, and the others are not held up.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ, [now, DEFAULT_POLICY_NAME, list(endpoint_ids)])
        rows = cursor.fetchall()
    recipients = {}
    for row in rows:
        try:
            recipients[row[0]] = _recipient(row[:11], row[11:])
        except UndecryptableValue as error:
            logger.error("endpoint %s cannot be sent to: %s", row[0], error)
    return recipients


def _recipient(row: tuple[Any, ...], policy_row: tuple[Any, ...]) -> Recipient:
    id, url, state, timeout, concurrency, limit, headers, certificate, ordered, blocks, secrets = row
    policy = _policy(policy_row)
    return Recipient(
        id=id,
        url=url,
        host=host_of(url),
        state=state,
        policy=policy,
        timeout_seconds=float(policy.timeout_seconds or timeout),
        max_concurrency=1 if ordered else concurrency,
        rate_limit_per_second=limit,
        secrets=tuple(decrypt(secret) for secret in secrets),
        headers=_own_headers(json.loads(decrypt(headers))),
        ca_certificate=certificate,
        ordered=ordered,
        dead_letter_blocks=blocks,
    )


def _own_headers(configured: dict[str, str]) -> dict[str, str]:
    # Refused when an endpoint is saved; what came in past the rules must not replace what is signed, in any spelling.
    return {name: value for name, value in configured.items() if name.lower() not in OUR_HEADERS}


def _policy(row: tuple[Any, ...]) -> Policy:
    name, kind, base, cap, schedule, *rest = row
    if name is None:
        # Somebody removed the row of the policy that endpoints without one of their own follow.
        return DEFAULT_POLICY
    return Policy(name, kind, base, cap, tuple(schedule), *rest)
