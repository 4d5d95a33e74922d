"""Probe: try endpoints that their health disabled, each with one of the deliveries it holds.

What arrives enables the endpoint again, as a person would have done. What fails stays held: it is no dead letter,
whatever the answer, and the attempt is not taken off the delivery's budget. Pacing is asked as by any drain, so that a
rate limit, a Retry-After and the rule of one worker an endpoint hold here too.
"""

import logging
import random
from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db import DatabaseError, InterfaceError, connection, transaction
from redis import RedisError

from deliveries import dispatch, lines, pacing
from deliveries.conf import conf
from deliveries.drain import attempt, certificates, sending
from deliveries.drain.channel import CIRCUIT_FAILURES
from deliveries.notices import standing, wording
from deliveries.notices.about import about
from deliveries.outcomes import Kind, Outcome
from deliveries.pacing import Tally
from deliveries.recipients import Recipient, load_recipients
from deliveries.statuses import Status
from deliveries.transitions import probes
from deliveries.transitions.claim import Claimed
from deliveries.transitions.claim_held import claim_held
from deliveries.transitions.settle import Result, settle
from deliveries.transport import Transport
from deliveries.watch.clock import database_now
from endpoints import availability
from endpoints.health import RULE
from endpoints.models import Endpoint, State
from endpoints.probing import wait_before_probe

logger = logging.getLogger(__name__)

LEASE_SPARE_SECONDS: Final = 30.0
"""What a delivery's lease lasts beyond its request's own time: a sending thread that is free, and the recording."""

LOOK_AGAIN: Final = timedelta(minutes=10)
NOTHING_TO_TRY: Final = "No delivery that it holds may go now."


@dataclass(frozen=True, slots=True)
class _Trial:
    begun: probes.Begun
    claimed: Claimed
    recipient: Recipient


def probe(
    endpoint_ids: Collection[int],
    *,
    transport: Transport | None = None,
    now: datetime | None = None,
    rng: random.Random | None = None,
) -> set[int]:
    """Make the probes that are due of these endpoints, all at once; returns the endpoints that are enabled by it.

    `now` (aware) and `rng` are for tests; the time is the database's. Raises RedisError when pacing cannot be asked:
    nothing was sent, and the sweep rings again.
    """
    now, rng = now or database_now(), rng or random.Random()
    token = pacing.new_token()
    recipients = load_recipients(endpoint_ids, now)
    disabled = {id: each for id, each in recipients.items() if each.state == State.DISABLED}
    allowances = pacing.take(token, {id: (1, each.rate_limit_per_second) for id, each in disabled.items()})
    ours = [id for id, allowance in allowances.items() if not allowance.is_busy]
    try:
        _put_off({id: allowances[id].wait_seconds for id in ours if not allowances[id].granted}, now)
        granted = [disabled[id] for id in ours if allowances[id].granted]
        trials = [trial for each in granted if (trial := _begin(each, now, rng))]
        _give_back({each.id for each in granted} - {trial.recipient.id for trial in trials}, allowances)
        _tell(trials, allowances, token)
        return _make(trials, transport or sending.process_transport(), now, rng, token)
    finally:
        if knocked := pacing.leave(token, ours):
            dispatch.wake(knocked)


def _put_off(waits: dict[int, float], now: datetime) -> None:
    for id, seconds in waits.items():
        probes.postpone(id, now + timedelta(seconds=seconds), "Held by pacing: it asked for less, or was tried lately.")


def _begin(recipient: Recipient, now: datetime, rng: random.Random) -> _Trial | None:
    minutes = conf().thresholds.probe_minutes
    with transaction.atomic():
        begun = probes.begin(recipient.id, minutes, now, partial(wait_before_probe, rng=rng))
        if begun is None:
            return None
        lease = recipient.timeout_seconds + LEASE_SPARE_SECONDS
        claimed = claim_held(begun, ordered=recipient.ordered, lease_seconds=lease)
        if claimed is not None:
            return _Trial(begun, claimed, recipient)
        # No try was made, so none is counted.
        transaction.set_rollback(True)
    probes.postpone(recipient.id, now + LOOK_AGAIN, NOTHING_TO_TRY)
    return None


def _give_back(unused: Collection[int], allowances: dict[int, pacing.Allowance]) -> None:
    if unused:
        probing = [id for id in unused if allowances[id].why == "probe"]
        pacing.give_back({id: allowances[id].interval_ms for id in unused}, probing)


def _tell(trials: list[_Trial], allowances: dict[int, pacing.Allowance], token: str) -> None:
    for trial in trials:
        if allowances[trial.recipient.id].why == "probe":
            lines.CIRCUIT_HALF_OPENED.say({"endpoint_id": trial.recipient.id, "drain": token[:12]})


def _make(trials: list[_Trial], transport: Transport, now: datetime, rng: random.Random, token: str) -> set[int]:
    """Send all of them at once, then record one after the other as they were begun."""
    under_way: list[tuple[_Trial, Future[tuple[Result, Outcome]]]] = [
        (trial, sending.sending_threads().submit(_attempt, trial, transport, rng, token[:12])) for trial in trials
    ]
    enabled = set()
    for trial, future in under_way:
        result, outcome = future.result()
        try:
            if _record(trial, result, outcome, now):
                enabled.add(trial.recipient.id)
        except (DatabaseError, InterfaceError) as error:
            # The lease lapses, and the next probe comes in its time.
            logger.warning("the probe of endpoint %s cannot be recorded: %s", trial.recipient.id, type(error).__name__)
            connection.close()
        certificates.note([result])
        _report(trial.recipient.id, outcome)
    return enabled


def _attempt(trial: _Trial, transport: Transport, rng: random.Random, drain: str) -> tuple[Result, Outcome]:
    result, outcome = attempt.attempt(
        trial.claimed,
        trial.recipient,
        transport=transport,
        clock=attempt.DatabaseClock(trial.claimed.claimed_at),
        rng=rng,
        drain=drain,
        sends_traceparent=conf().send_traceparent,
    )
    return replace(result, pace="probe"), outcome


def _record(trial: _Trial, result: Result, outcome: Outcome, now: datetime) -> bool:
    if outcome.kind is Kind.DELIVERED:
        with transaction.atomic():
            settle([result])
            return _enable(trial, now)
    with transaction.atomic():
        settle([_held(trial.claimed, result)])
        _note_failure(trial, outcome, now)
    logger.info("endpoint %s stays disabled: a probe ended as %s", trial.recipient.id, outcome.kind)
    return False


def _report(endpoint_id: int, outcome: Outcome) -> None:
    failed = outcome.kind in CIRCUIT_FAILURES
    hold = (outcome.retry_after_seconds or 0.0) if outcome.slows_endpoint else None
    try:
        pacing.report({endpoint_id: Tally(int(not failed), int(failed), int(failed), hold)})
    except RedisError as error:
        logger.warning("pacing was not told of a probe of endpoint %s: %s", endpoint_id, error)


def _held(claimed: Claimed, result: Result) -> Result:
    """The result of a failed probe: the delivery is held as before.

    The first attempt of a budget stays spent, so that a delivery which was sent never looks like one that was not.
    """
    return replace(result, status=Status.PENDING, delay_seconds=0.0, burial=None, is_unspent=claimed.budget_number > 1)


def _note_failure(trial: _Trial, outcome: Outcome, now: datetime) -> None:
    id = trial.recipient.id
    if outcome.kind is not Kind.GONE:
        probes.postpone(id, now + timedelta(seconds=outcome.retry_after_seconds or 0), outcome.reason)
    elif probes.end(trial.begun, outcome.reason):
        reason = "It answered a probe with 410 Gone: it is not tried any more."
        standing.tell(wording.disabled(about(id), reason, conf().archive_after_days), now)


def _enable(trial: _Trial, now: datetime) -> bool:
    id = trial.recipient.id
    unmoved = Endpoint.objects.filter(
        pk=id, state=State.DISABLED, state_changed_by=RULE, state_changed_at=trial.begun.disabled_at
    )
    # Somebody enabled, paused or archived it while the probe was on its way: theirs is the last word.
    if not unmoved.select_for_update().exists():
        return False
    probes.arrived(trial.begun, now)
    availability.enable(id, actor=RULE, reason=f"Delivery {trial.claimed.id} arrived as a probe.")
    return True
