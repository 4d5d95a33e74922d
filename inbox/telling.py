"""The line about an attempt at a received event."""

import logging
import time
from dataclasses import dataclass

from inbox import lines
from inbox.errors import FailureClass
from inbox.transitions.claim import Claimed
from journal import scrubbed


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended. `result`: processed, stale, ignored, retry, dead_letter, or lease_lost: not recorded.

    `error` is one whose traceback is worth its lines.
    """

    result: str
    handler: str
    failure: FailureClass | None = None
    reason: str = ""
    retry_in_seconds: float | None = None
    error: Exception | None = None


def tell(claimed: Claimed, ended: Ended, began: float) -> None:
    """Say the line, once the attempt is recorded. `began` is on the clock of `time.monotonic`."""
    event = claimed.event
    duration_ms = round((time.monotonic() - began) * 1000)
    waited = claimed.claimed_at - event.received_at
    facts = {
        "source": event.source,
        "event_id": event.id,
        "event_type": event.type or None,
        "received_id": claimed.id,
        "attempt": event.attempt,
        "result": ended.result,
        "handler": ended.handler or None,
        "failure_class": ended.failure,
        "reason": scrubbed(ended.reason) or None,
        "retry_in_seconds": None if ended.retry_in_seconds is None else round(ended.retry_in_seconds, 1),
        "duration_ms": duration_ms,
        "received_to_done_ms": round(waited.total_seconds() * 1000) + duration_ms,
    }
    lines.ATTEMPT_MADE.say(facts, level=_LEVELS.get(ended.result, logging.INFO), error=ended.error)


_LEVELS = {"retry": logging.WARNING, "lease_lost": logging.WARNING, "dead_letter": logging.ERROR}
