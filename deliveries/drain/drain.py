"""One drain: take, claim, send, record, report, leave, for a set of endpoints and within a wall-clock budget.

Its thread claims rows and records results; the requests run on the process's sending threads, an endpoint's in a
channel of its own, so that a slow one holds up nobody's recording. An endpoint is left as soon as nothing more is due
for it, and the next wake-up can serve it at once.
"""

import logging
import math
import random
import time
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone
from redis import RedisError

from deliveries import dispatch, lines, pacing
from deliveries.conf import conf
from deliveries.drain import attempt, sending
from deliveries.drain.channel import Channel
from deliveries.drain.due import seconds_until_due
from deliveries.drain.lane import Lane
from deliveries.drain.outbox import Outbox
from deliveries.recipients import Recipient, load_recipients
from deliveries.transitions.claim import Claimed, Wish, claim
from deliveries.transitions.claim_in_order import claim_in_order, seconds_until_head_due
from deliveries.transitions.hand_back import hand_back
from deliveries.transport import Transport
from deliveries.watch import heartbeats
from endpoints import availability
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint

logger = logging.getLogger(__name__)

LEASE_SPARE_SECONDS = 15.0
"""What a row's lease lasts beyond the budget and the request's own time: recording, and a database that hiccups."""

RESULT_PATIENCE_SECONDS = 240.0
"""How long a result waits for a database that refuses it: its request was made and must not be made again for that.
Whoever would take the delivery back has to write that down too, so waiting past the lease is right. Shorter than the
broker's visibility timeout."""

NO_PACING_SECONDS = 2.0
"""How long to wait before pacing is asked again when Redis does not answer."""

CONFIG_SECONDS = 2.0
"""How old an endpoint's configuration may get within a drain: a changed limit, URL or state holds after that."""

LEAST_SENDING_SECONDS = 1.0
"""A lane stops one request's time before the budget ends, so that the slot is free then; but it sends this long."""

IDLE_NAP_SECONDS = 0.1

# An ended session shows as the one at its first statement and as the other at every later one, until it is closed.
_DATABASE_ERRORS = (DatabaseError, InterfaceError)


class Drain:
    """The state of one drain: its lanes, the results not yet recorded, and what it leaves behind."""

    def __init__(self, endpoint_ids: Collection[int], slow: Collection[int], transport: Transport) -> None:
        self._clock = attempt.DatabaseClock(timezone.now())
        self._outbox = Outbox()
        self._token = pacing.new_token()
        self._name = self._token[:12]
        self._attempt = partial(
            attempt.attempt,
            transport=transport,
            clock=self._clock,
            rng=random.Random(),
            drain=self._name,
            sends_traceparent=conf().send_traceparent,
        )
        started = time.monotonic()
        self._ends_at = started + conf().task_budget_seconds
        self._configured_at = started
        self._waits: dict[int, float] = {}
        self._unsent: list[Claimed] = []
        self._lanes = {
            id: self._open_lane(recipient, id in slow, started)
            for id, recipient in load_recipients(endpoint_ids, self._clock.now()).items()
            if recipient.is_open
        }

    def _open_lane(self, recipient: Recipient, was_slow: bool, started: float) -> Lane:
        sending_seconds = max(conf().task_budget_seconds - recipient.timeout_seconds, LEAST_SENDING_SECONDS)
        closes_at = started + sending_seconds
        channel = Channel(recipient, self._attempt, self._outbox, sending.sending_threads(), closes_at)
        return Lane(channel, was_slow, closes_at)

    def run(self, *, for_seconds: float = math.inf) -> dict[int, float]:
        """Work until nothing is left to do, or for so long: then `is_finished` says no, and it may be run again.

        Returns, when finished, the seconds until endpoints become due for which the caller has to set a timer.
        """
        stops_at = time.monotonic() + for_seconds
        while self._lanes and time.monotonic() < stops_at:
            self._refresh()
            self._refill()
            self._outbox.wait(self._nap_seconds())
            self._stop_where_told()
            self._record()
            self._leave([lane for lane in self._lanes.values() if lane.is_finished and not self._outbox.holds(lane.id)])
        if not self.is_finished:
            return {}
        return dispatch.set_timers(self._waits)

    @property
    def is_finished(self) -> bool:
        """Whether every endpoint has been left."""
        return not self._lanes

    @property
    def _is_over(self) -> bool:
        return sending.stopping.is_set() or time.monotonic() >= self._ends_at

    def _refresh(self) -> None:
        """Take over what an operator changed since the drain began; what was paused or archived sends no more."""
        now = time.monotonic()
        if now - self._configured_at < CONFIG_SECONDS:
            return
        self._configured_at = now
        try:
            recipients = load_recipients(self._lanes, self._clock.now())
        except _DATABASE_ERRORS as error:
            logger.warning("endpoints cannot be read again: %s", error)
            connection.close()
            return
        for id, lane in self._lanes.items():
            lane.channel.reconfigure(recipients.get(id))

    def _refill(self) -> None:
        """Take what pacing allows for every lane that runs low, claim that many rows in one statement, feed them."""
        now = time.monotonic()
        hungry = [lane for lane in self._lanes.values() if self._may_claim(lane, now)]
        if not hungry or self._is_over:
            return
        try:
            wishes = self._wishes(hungry, now)
            if wishes:
                self._feed(self._claim(wishes), wishes)
        except RedisError as error:
            # With nobody to count, nothing may be sent: wait a little, what is in flight goes on.
            logger.warning("pacing cannot be asked: %s", error)
            for lane in hungry:
                lane.rest(until=now + NO_PACING_SECONDS)
        except _DATABASE_ERRORS as error:
            logger.warning("nothing can be claimed: %s", error)
            connection.close()
            self._ends_at = now

    def _may_claim(self, lane: Lane, now: float) -> bool:
        # The next run of an ordered endpoint begins where the last one ended, and that is known when it is recorded.
        is_underway = lane.recipient.ordered and not (lane.channel.is_idle and not self._outbox.holds(lane.id))
        return lane.is_hungry(now) and not is_underway

    def _wishes(self, hungry: Sequence[Lane], now: float) -> dict[int, Wish]:
        wanted = {lane.id: (lane.wanted, lane.recipient.rate_limit_per_second) for lane in hungry}
        allowances = pacing.take(self._token, wanted)
        wishes = {}
        for lane in hungry:
            allowance = allowances[lane.id]
            lane.note_allowance(allowance, now)
            if allowance.granted:
                lease = lane.closes_at - now + lane.recipient.timeout_seconds + LEASE_SPARE_SECONDS
                wishes[lane.id] = Wish(allowance.granted, lease)
        return wishes

    def _claim(self, wishes: dict[int, Wish]) -> list[Claimed]:
        ordered = {id for id in wishes if self._lanes[id].recipient.ordered}
        free = {id: wish for id, wish in wishes.items() if id not in ordered}
        rows = claim(free) if free else []
        for id in ordered:
            rows.extend(claim_in_order(id, wishes[id]))
        return rows

    def _feed(self, rows: Sequence[Claimed], wishes: dict[int, Wish]) -> None:
        if rows:
            self._clock.set(rows[0].claimed_at)
        shares: dict[int, list[Claimed]] = {id: [] for id in wishes}
        for row in rows:
            shares[row.endpoint_id].append(row)
        for id, share in shares.items():
            if share and self._lanes[id].is_probing:
                lines.CIRCUIT_HALF_OPENED.say({"endpoint_id": id, "drain": self._name})
            self._lanes[id].feed(share, wishes[id].rows)
        pacing.give_back(
            {id: self._lanes[id].cost_ms(wishes[id].rows - len(share)) for id, share in shares.items()},
            probes=[id for id, share in shares.items() if not share and self._lanes[id].is_probing],
        )

    def _nap_seconds(self) -> float:
        """Until the next thing can happen: results, tokens, the end of the budget."""
        now = time.monotonic()
        if any(self._may_claim(lane, now) for lane in self._lanes.values()) and not self._is_over:
            return 0.0
        if any(lane.is_finished for lane in self._lanes.values()) and not self._outbox.is_failing:
            return 0.0
        if self._somebody_waits_for_record() and not self._outbox.is_failing:
            return 0.0
        return min(
            [IDLE_NAP_SECONDS, *(lane.wait_until - now for lane in self._lanes.values() if lane.wait_until > now)]
        )

    def _stop_where_told(self) -> None:
        """Hand back what will not be sent: the time is over, or an endpoint asked for less, fails or is gone."""
        is_over, now = self._is_over, time.monotonic()
        for lane in self._lanes.values():
            # What could not be recorded should not be sent either.
            if is_over or self._outbox.is_failing or now >= lane.closes_at or lane.channel.is_closed:
                self._unsent.extend(lane.channel.close())
        try:
            if back := hand_back(self._unsent):
                lines.HANDED_BACK.say({"deliveries": back, "drain": self._name})
            self._unsent.clear()
        except _DATABASE_ERRORS as error:
            logger.warning("%d unsent deliveries cannot be handed back yet: %s", len(self._unsent), error)
            connection.close()

    def _record(self) -> None:
        while self._outbox.is_ripe or self._somebody_waits_for_record():
            # A process that is told to stop has not got so long.
            is_stopping = sending.stopping.is_set()
            settled = self._outbox.record(LEASE_SPARE_SECONDS if is_stopping else RESULT_PATIENCE_SECONDS)
            dispatch.announce(settled.dead_letter_ids)
            if self._outbox.is_failing:
                break
        self._report()

    def _somebody_waits_for_record(self) -> bool:
        return any(lane.waits_for_record and self._outbox.holds(lane.id) for lane in self._lanes.values())

    def _report(self) -> None:
        """Tell pacing how the requests ended; where the circuit is not closed, stop."""
        tallies = {lane.id: lane.channel.take_tally() for lane in self._lanes.values() if lane.channel.has_news}
        if not tallies:
            return
        heartbeats.note("recorded")
        try:
            circuits = pacing.report(tallies)
        except RedisError as error:
            logger.warning("pacing was not told of %d endpoints: %s", len(tallies), error)
            return
        for id, circuit in circuits.items():
            self._lanes[id].note_circuit(circuit)

    def _leave(self, lanes: Sequence[Lane]) -> None:
        """Give endpoints up to the next wake-up, timer or sweep."""
        for lane in lanes:
            del self._lanes[lane.id]
        ours = [lane for lane in lanes if not lane.is_busy_elsewhere]
        if not ours:
            return
        try:
            self._part_with(ours)
        except RedisError as error:
            logger.warning("%d endpoints wait for the sweep: %s", len(ours), error)
        except _DATABASE_ERRORS as error:
            logger.warning("%d endpoints wait for the sweep: %s", len(ours), error)
            connection.close()

    def _part_with(self, lanes: Sequence[Lane]) -> None:
        for lane in lanes:
            if lane.channel.is_gone:
                _disable(lane.id)
        self._sort_by_speed(lanes)
        # The lease goes before the look at what is due: whoever rings after the look finds the endpoint free.
        knocked = pacing.leave(self._token, [lane.id for lane in lanes])
        due = _seconds_until_due(lanes)
        held = pacing.waits(due)
        now, unfinished = time.monotonic(), set()
        for lane in lanes:
            wait = max(due.get(lane.id, 0.0), held.get(lane.id, 0.0), lane.wait_for_timer(now))
            if lane.id in due and wait > 0:
                self._waits[lane.id] = wait
            elif lane.id in due or lane.id in knocked:
                unfinished.add(lane.id)
        # At once: the others of this drain may take long.
        if unfinished:
            dispatch.wake(unfinished)

    def _sort_by_speed(self, lanes: Iterable[Lane]) -> None:
        dispatch.mark_slow({lane.id for lane in lanes if lane.is_slow})
        dispatch.mark_healthy({lane.id for lane in lanes if lane.was_slow and lane.channel.sent and not lane.is_slow})


def _seconds_until_due(lanes: Sequence[Lane]) -> dict[int, float]:
    due = seconds_until_due([lane.id for lane in lanes if not lane.recipient.ordered])
    for lane in lanes:
        if lane.recipient.ordered and (seconds := seconds_until_head_due(lane.id)) is not None:
            due[lane.id] = seconds
    return due


def _disable(endpoint_id: int) -> None:
    try:
        availability.disable(
            Endpoint.objects.get(pk=endpoint_id), actor="rule: gone", reason="The endpoint answered 410 Gone."
        )
    except (TransitionRefused, Endpoint.DoesNotExist):
        logger.info("endpoint %s answered 410 and is not active any more", endpoint_id)
