"""One attempt as a list of steps: sign, send, judge, decide. A claimed delivery in, a result to record out."""

import logging
import random
import time
from datetime import datetime, timedelta

from deliveries.drain import span
from deliveries.outcomes import Exchange, Failure, Outcome, judge
from deliveries.recipients import Recipient
from deliveries.retries import Done, GiveUp, Retry, decide
from deliveries.statuses import Status
from deliveries.transitions.bury import Burial
from deliveries.transitions.claim import Claimed
from deliveries.transitions.settle import Result
from deliveries.transport import Request, Transport
from endpoints import signing

logger = logging.getLogger(__name__)


class DatabaseClock:
    """The database's time, carried on by this machine's monotonic clock: a worker whose clock is off signs rightly."""

    def __init__(self, known: datetime) -> None:
        self.set(known)

    def set(self, known: datetime) -> None:
        """Take over what the database says it is now."""
        # One assignment: the sending threads read it meanwhile, and half of a pair would be seconds off.
        self._reading = (known, time.monotonic())

    def now(self) -> datetime:
        known, read_at = self._reading
        return known + timedelta(seconds=time.monotonic() - read_at)


def attempt(
    claimed: Claimed,
    recipient: Recipient,
    *,
    transport: Transport,
    clock: DatabaseClock,
    rng: random.Random,
    drain: str = "",
    sends_traceparent: bool = False,
) -> tuple[Result, Outcome]:
    """Send one delivery once; `drain` names the drain that does. Never raises: a fault of ours is an outcome too."""
    begun = span.begin(claimed, recipient)
    traceparent = begun.traceparent if sends_traceparent else None
    started_at = clock.now()
    exchange = _exchange(claimed, recipient, transport, started_at, traceparent)
    now = clock.now()
    outcome = judge(exchange, now=now)
    begun.end(exchange, outcome)
    decision = decide(
        recipient.policy, claimed.budget_number, outcome, now=now, deadline_at=claimed.deadline_at, rng=rng
    )
    result = Result(
        claimed=claimed,
        status=_STATUS[type(decision)],
        outcome=outcome.kind,
        reason=outcome.reason,
        started_at=started_at,
        duration_ms=exchange.duration_ms,
        status_code=exchange.status_code,
        delay_seconds=decision.delay_seconds if isinstance(decision, Retry) else None,
        host=recipient.host,
        address=exchange.address,
        retry_after=(exchange.retry_after or "")[:128],
        snippet=exchange.snippet,
        certificate_ends_at=exchange.certificate_ends_at,
        burial=_burial(claimed, recipient, outcome, decision) if isinstance(decision, GiveUp) else None,
        rate_limit=recipient.rate_limit_per_second,
        drain=drain,
        traceparent=begun.traceparent,
    )
    return result, outcome


_STATUS = {Done: Status.DELIVERED, Retry: Status.PENDING, GiveUp: Status.DEAD}


def _exchange(
    claimed: Claimed, recipient: Recipient, transport: Transport, now: datetime, traceparent: str | None
) -> Exchange:
    if not recipient.secrets:
        return Exchange(failure=Failure.INTERNAL, error="the endpoint has no live signing secret", host=recipient.host)
    try:
        return transport.send(_request(claimed, recipient, int(now.timestamp()), traceparent))
    except Exception as error:
        # The message may quote the URL; the class is enough to find the fault in the log.
        logger.exception("delivery %s: the attempt failed inside Holdfast", claimed.id)
        return Exchange(failure=Failure.INTERNAL, error=type(error).__name__, host=recipient.host)


def _request(claimed: Claimed, recipient: Recipient, timestamp: int, traceparent: str | None) -> Request:
    headers = {
        **recipient.headers,
        "content-type": "application/json",
        "webhook-id": claimed.event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signing.sign(recipient.secrets, claimed.event_id, timestamp, claimed.body),
    }
    if traceparent:
        # Refused when an endpoint is saved; one that was saved before must not send the receiver two of them.
        headers = {name: value for name, value in headers.items() if name.lower() not in _TRACE_HEADERS}
        headers["traceparent"] = traceparent
    return Request(recipient.url, headers, claimed.body, recipient.timeout_seconds, recipient.ca_certificate)


# A state means nothing beside a parent of another trace (W3C Trace Context, section 3.3).
_TRACE_HEADERS = frozenset({"traceparent", "tracestate"})


def _burial(claimed: Claimed, recipient: Recipient, outcome: Outcome, decision: GiveUp) -> Burial:
    return Burial(
        delivery_id=claimed.id,
        failure_class=outcome.kind,
        reason=decision.reason,
        url=recipient.url,
        headers=recipient.shown_headers(claimed.event_id),
    )
