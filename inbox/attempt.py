"""One attempt: the handler of a claimed event, and what is recorded about it.

The attempt was counted when the event was claimed, in a transaction of its own, so that an event that takes its worker
down does not do so for ever.
"""

import time
from dataclasses import replace
from random import Random
from typing import Any

from django.db import transaction

from inbox import fetched, handlers
from inbox.classify import classify, reason
from inbox.errors import FailureClass, InboxError, ProcessingFailed
from inbox.handlers import Handler
from inbox.retries import delay_seconds
from inbox.statuses import Result
from inbox.telling import Ended, tell
from inbox.transitions.claim import Claimed
from inbox.transitions.settle import fail, finish

COVERED = "A fetch that began after this event had arrived was applied already: it needed none of its own."


class LeaseLost(InboxError):
    """The handler took longer than its lease, and somebody else has the event now: what it wrote is undone."""


def run(claimed: Claimed, rng: Random) -> None:
    """Run the handler and record the result. Raises nothing that a handler raises."""
    found = handlers.find(claimed.event.source, claimed.event.type)
    if found is None:
        _end_unhandled(claimed)
        return
    began = time.monotonic()
    try:
        ended = _run(found, claimed)
    except LeaseLost as lost:
        ended = Ended("lease_lost", found.name, reason=str(lost))
    except Exception as error:
        ended = _record_failure(claimed, found, error, rng, began)
    tell(claimed, ended, began)


def _run(found: Handler, claimed: Claimed) -> Ended:
    if found.two_phase:
        # Its effects are outside the database already: only the record may be missing, and then it runs again.
        return _finish(claimed, found, _judged(found.call(claimed.event)))
    if found.fetch is not None and found.object_key is not None:
        return _run_with_fetch(found, claimed, str(found.object_key(claimed.event))[:255])
    with transaction.atomic():
        return _finish(claimed, found, _judged(found.call(claimed.event)))


def _run_with_fetch(found: Handler, claimed: Claimed, key: str) -> Ended:
    assert found.fetch is not None
    covered, began_at = fetched.is_covered(claimed.source_id, key, claimed.event.received_at)
    if covered:
        return _finish(claimed, found, Result.PROCESSED, COVERED)
    # The network stays outside the transaction.
    answer = found.fetch(claimed.event)
    with transaction.atomic():
        if fetched.mark(claimed.source_id, key, began_at):
            return _finish(claimed, found, _judged(found.call(claimed.event, answer)))
        return _finish(claimed, found, Result.PROCESSED, COVERED)


def _judged(returned: Any) -> Result:
    """What the handler said. A failure may be returned as well as raised; what is not for us counts as nothing."""
    if isinstance(returned, ProcessingFailed):
        raise returned
    return returned if isinstance(returned, Result) else Result.PROCESSED


def _finish(claimed: Claimed, found: Handler, result: Result, why: str = "") -> Ended:
    if not finish(claimed, result, handler=found.name, reason=why):
        raise LeaseLost(f"{found.name} took longer than its lease of {found.lease_seconds} s.")
    return Ended(result, found.name, reason=why)


def _record_failure(claimed: Claimed, found: Handler, error: Exception, rng: Random, began: float) -> Ended:
    failure = classify(error)
    delay = delay_seconds(failure, claimed.budget_attempt, rng)
    ended = _fail(claimed, failure, delay, found.name, reason(error), began)
    # The traceback of a fault that nobody foresaw is worth its lines; a failure that the handler named is not.
    if failure is FailureClass.LOGIC and not isinstance(error, ProcessingFailed):
        return replace(ended, error=error)
    return ended


def _end_unhandled(claimed: Claimed) -> None:
    words = f"No handler wants events of type {claimed.event.type or '(none)'}."
    began = time.monotonic()
    if claimed.unhandled == "dead_letter":
        ended = _fail(claimed, FailureClass.UNHANDLED, None, "", words, began)
    else:
        is_recorded = finish(claimed, Result.IGNORED, handler="", reason=words)
        ended = Ended(Result.IGNORED if is_recorded else "lease_lost", "", reason=words)
    tell(claimed, ended, began)


def _fail(
    claimed: Claimed, failure: FailureClass, delay: float | None, handler: str, words: str, began: float
) -> Ended:
    is_recorded = fail(
        claimed,
        failure,
        delay_seconds=delay,
        handler=handler[:255],
        reason=words,
        duration_ms=int((time.monotonic() - began) * 1000),
    )
    result = "lease_lost" if not is_recorded else "dead_letter" if delay is None else "retry"
    return Ended(result, handler, failure, words, delay)
