"""When to try again, or why not: policy, attempt, outcome, clock and chance in, one decision out. Pure.

Waits are jittered so that deliveries that failed at one moment do not return at one moment. Exponential policies use
full jitter, `random(0, min(cap, base * 2**n))` (Marc Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog,
2015). There is no floor under it: a floor would gather the shortest draws on one instant, and pacing is what guards an
endpoint.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum, auto
from random import Random
from typing import Final

from deliveries.outcomes import Kind, Outcome, Permanence
from endpoints.policies import SCHEDULE, Policy

RETRY_AFTER_SPREAD: Final = 0.1
"""Share of a Retry-After that is added at random, so that throttled deliveries do not all wake when it ends."""

RETRY_AFTER_SPREAD_FLOOR_SECONDS: Final = 10.0
"""The least of that spread: services that throttle name a second or two however many deliveries they turned away."""


class GiveUpKind(StrEnum):
    """Why a delivery becomes a dead letter."""

    PERMANENT = auto()  # another attempt would fail the same way
    EXHAUSTED = auto()  # the policy's attempts are spent
    EXPIRED = auto()  # the next attempt would come at or after the deadline


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again `delay_seconds` from now."""

    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Stop and write a dead letter."""

    reason: str
    kind: GiveUpKind


@dataclass(frozen=True, slots=True)
class Done:
    """Delivered: nothing more to do."""


Decision = Retry | GiveUp | Done


def decide(
    policy: Policy, attempt: int, outcome: Outcome, *, now: datetime, deadline_at: datetime | None, rng: Random
) -> Decision:
    """Return what follows the failed or successful `attempt`, counted from 1 within the current budget.

    `now` and `deadline_at` are aware. A retry that could only come at or after the deadline is given up now: waiting
    for it would hide a delivery that is already lost.
    """
    if outcome.permanence is Permanence.FINAL:
        return Done()
    if outcome.permanence is Permanence.PERMANENT:
        return GiveUp(outcome.reason, GiveUpKind.PERMANENT)
    if attempt >= policy.max_attempts:
        return GiveUp(
            f"All {policy.max_attempts} attempts of policy {policy.name} failed. Last: {outcome.reason}",
            GiveUpKind.EXHAUSTED,
        )
    delay = _delay_seconds(policy, attempt, outcome, rng)
    if deadline_at is not None and delay >= _seconds_between(now, deadline_at):
        return GiveUp(
            f"No attempt is left before the deadline {deadline_at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: the next one "
            f"would start {delay:,.0f} s from now. Last: {outcome.reason}",
            GiveUpKind.EXPIRED,
        )
    return Retry(delay, _retry_reason(policy, attempt, outcome, delay))


def backoff_seconds(policy: Policy, attempt: int, rng: Random) -> float:
    """Return the policy's own wait after the failed `attempt` (from 1), in seconds, jitter included."""
    retry = max(attempt - 1, 0)
    if policy.kind == SCHEDULE:
        wait = policy.schedule_seconds[min(retry, len(policy.schedule_seconds) - 1)]
        return wait * (1 + rng.uniform(0, policy.jitter))
    # The exponent is bounded because a power of two beyond any cap only costs time.
    return rng.uniform(0, min(policy.cap_seconds, policy.base_seconds * 2 ** min(retry, 40)))


def _delay_seconds(policy: Policy, attempt: int, outcome: Outcome, rng: Random) -> float:
    """Own backoff, one step further when throttled; a Retry-After can only lengthen it."""
    step = attempt + 1 if outcome.kind is Kind.THROTTLED else attempt
    own = backoff_seconds(policy, step, rng)
    asked = outcome.retry_after_seconds
    if not asked:
        return own
    spread = max(asked * RETRY_AFTER_SPREAD, RETRY_AFTER_SPREAD_FLOOR_SECONDS)
    return max(own, asked + rng.uniform(0, spread))


def _seconds_between(start: datetime, end: datetime) -> float:
    # Two moments in one zone subtract as wall clocks, an hour off across a change to or from summer time; not in UTC.
    return (end.astimezone(UTC) - start.astimezone(UTC)).total_seconds()


def _retry_reason(policy: Policy, attempt: int, outcome: Outcome, delay: float) -> str:
    asked = outcome.retry_after_seconds
    wish = f", as the endpoint asked for at least {asked:,.0f} s" if asked else ""
    return f"Attempt {attempt} of {policy.max_attempts} ended as {outcome.kind}; next in {delay:,.0f} s{wish}."
