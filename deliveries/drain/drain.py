"""One drain: take, claim, send, record, leave, for a set of endpoints and within a wall-clock budget.

Its thread claims rows and records results; the requests run on the process's sending threads, an endpoint's in a channel
of its own, so that a slow one holds up nobody's recording. An endpoint is left as soon as nothing more is due for it, and
the next wake-up can serve it at once.
"""

import logging
import random
import time
from collections.abc import Collection, Iterable, Sequence
from functools import partial

from django.db import DatabaseError, connection
from django.utils import timezone
from redis import RedisError

from deliveries import dispatch, pacing
from deliveries.conf import conf
from deliveries.drain import attempt, sending
from deliveries.drain.channel import Channel
from deliveries.drain.lane import Lane
from deliveries.drain.outbox import Outbox
from deliveries.due import seconds_until_due
from deliveries.recipients import load_recipients
from deliveries.transitions.claim import Claimed, Wish, claim
from deliveries.transitions.hand_back import hand_back
from deliveries.transport import Transport
from endpoints import availability
from endpoints.errors import TransitionRefused
from endpoints.models import Endpoint

logger = logging.getLogger(__name__)

LEASE_SPARE_SECONDS = 15.0
"""What a row's lease lasts beyond the budget and the request's own time: recording, and a database that hiccups."""

SLOW_DOWN_SECONDS = 2.0
"""How long an endpoint that asked for less without naming a time is left alone."""

IDLE_NAP_SECONDS = 0.1


class Drain:
    """The state of one drain: its lanes, the results not yet recorded, and what it leaves behind."""

    def __init__(self, endpoint_ids: Collection[int], slow: Collection[int], transport: Transport) -> None:
        self._clock = attempt.DatabaseClock(timezone.now())
        self._attempt = partial(attempt.attempt, transport=transport, clock=self._clock, rng=random.Random())
        self._outbox = Outbox()
        self._token = pacing.new_token()
        self._ends_at = time.monotonic() + conf().task_budget_seconds
        self._waits: dict[int, float] = {}
        self._unfinished: set[int] = set()
        self._unsent: list[Claimed] = []
        self._lanes = {
            id: Lane(Channel(recipient, self._attempt, self._outbox, sending.sending_threads()), was_slow=id in slow)
            for id, recipient in load_recipients(endpoint_ids, self._clock.now()).items()
            if recipient.is_open
        }

    def run(self) -> dict[int, float]:
        while self._lanes:
            self._refill()
            self._outbox.wait(self._nap_seconds())
            self._stop_where_told()
            self._record()
            self._leave([lane for lane in self._lanes.values() if lane.is_finished and not self._outbox.holds(lane.id)])
        dispatch.wake(self._unfinished)
        return dispatch.set_timers(self._waits)

    @property
    def _is_over(self) -> bool:
        return sending.stopping.is_set() or time.monotonic() >= self._ends_at

    def _refill(self) -> None:
        """Take what pacing allows for every lane that runs low, claim that many rows in one statement, feed them."""
        now = time.monotonic()
        hungry = [lane for lane in self._lanes.values() if lane.is_hungry(now)]
        if not hungry or self._is_over:
            return
        try:
            wishes = self._wishes(hungry, now)
            if wishes:
                self._feed(claim(wishes), wishes)
        except RedisError as error:
            # With nobody to count, nothing may be sent: wait a little, what is in flight goes on.
            logger.warning("pacing cannot be asked: %s", error)
            for lane in hungry:
                lane.rest(until=now + SLOW_DOWN_SECONDS)
        except DatabaseError as error:
            logger.warning("nothing can be claimed: %s", error)
            connection.close()
            self._ends_at = now

    def _wishes(self, hungry: Sequence[Lane], now: float) -> dict[int, Wish]:
        wanted = {lane.id: (lane.claim_size, lane.recipient.rate_limit_per_second) for lane in hungry}
        allowances = pacing.take(self._token, wanted)
        wishes = {}
        for lane in hungry:
            allowance = allowances[lane.id]
            lane.note_allowance(allowance, now)
            if allowance.granted:
                lease = self._ends_at - now + lane.recipient.timeout_seconds + LEASE_SPARE_SECONDS
                wishes[lane.id] = Wish(allowance.granted, lease)
        return wishes

    def _feed(self, rows: Sequence[Claimed], wishes: dict[int, Wish]) -> None:
        if rows:
            self._clock.set(rows[0].claimed_at)
        shares: dict[int, list[Claimed]] = {id: [] for id in wishes}
        for row in rows:
            shares[row.endpoint_id].append(row)
        for id, share in shares.items():
            self._lanes[id].feed(share, wishes[id].rows)

    def _nap_seconds(self) -> float:
        """Until the next thing can happen: results, tokens, the end of the budget."""
        now = time.monotonic()
        if any(lane.is_hungry(now) for lane in self._lanes.values()) and not self._is_over:
            return 0.0
        if any(lane.is_finished for lane in self._lanes.values()) and not self._outbox.is_failing:
            return 0.0
        return min(
            [IDLE_NAP_SECONDS, *(lane.wait_until - now for lane in self._lanes.values() if lane.wait_until > now)]
        )

    def _stop_where_told(self) -> None:
        """Hand back what will not be sent: the budget is spent, or an endpoint asked for less or is gone."""
        is_over = self._is_over
        for lane in self._lanes.values():
            if is_over or lane.channel.is_closed:
                self._unsent.extend(lane.channel.close())
        try:
            hand_back(self._unsent)
            self._unsent.clear()
        except DatabaseError as error:
            logger.warning("%d unsent deliveries cannot be handed back yet: %s", len(self._unsent), error)
            connection.close()

    def _record(self) -> None:
        while self._outbox.is_ripe or any(
            lane.is_finished and self._outbox.holds(lane.id) for lane in self._lanes.values()
        ):
            settled = self._outbox.record(patience_seconds=LEASE_SPARE_SECONDS)
            dispatch.announce(settled.dead_letter_ids)
            if self._outbox.is_failing:
                return

    def _leave(self, lanes: Sequence[Lane]) -> None:
        """Give endpoints up to the next wake-up, timer or sweep."""
        for lane in lanes:
            del self._lanes[lane.id]
        ours = [lane for lane in lanes if not lane.is_busy_elsewhere]
        if not ours:
            return
        try:
            for lane in ours:
                self._react(lane)
            self._sort_by_speed(ours)
            knocked = pacing.leave(self._token, [lane.id for lane in ours])
            due = seconds_until_due([lane.id for lane in ours])
        except (RedisError, DatabaseError) as error:
            logger.warning("%d endpoints wait for the sweep: %s", len(ours), error)
            return
        for lane in ours:
            wait = max(due.get(lane.id, 0.0), lane.wait_until - time.monotonic())
            if lane.id in due and wait > 0:
                self._waits[lane.id] = wait
            elif lane.id in due or lane.id in knocked:
                self._unfinished.add(lane.id)

    def _react(self, lane: Lane) -> None:
        channel = lane.channel
        if channel.is_gone:
            _disable(lane.id)
        elif channel.retry_after_seconds is not None:
            seconds = channel.retry_after_seconds or SLOW_DOWN_SECONDS
            pacing.hold(lane.id, seconds)
            lane.rest(until=time.monotonic() + seconds)

    def _sort_by_speed(self, lanes: Iterable[Lane]) -> None:
        dispatch.mark_slow({lane.id for lane in lanes if lane.is_slow})
        dispatch.mark_healthy({lane.id for lane in lanes if lane.was_slow and lane.channel.sent and not lane.is_slow})


def _disable(endpoint_id: int) -> None:
    try:
        availability.disable(
            Endpoint.objects.get(pk=endpoint_id), actor="rule: gone", reason="The endpoint answered 410 Gone."
        )
    except (TransitionRefused, Endpoint.DoesNotExist):
        logger.info("endpoint %s answered 410 and is not active any more", endpoint_id)
