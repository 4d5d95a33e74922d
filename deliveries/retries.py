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

EXPONENTIAL: Final = "exponential"
SCHEDULE: Final = "schedule"

RETRY_AFTER_SPREAD: Final = 0.1
"""Share of a Retry-After that is added at random, so that throttled deliveries do not all wake when it ends."""

RETRY_AFTER_SPREAD_FLOOR_SECONDS: Final = 10.0
"""The least of that spread: services that throttle name a second or two however many deliveries they turned away."""

_MINUTE: Final = 60
_HOUR: Final = 3_600
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Policy:
    """How often and how long a delivery is tried. All times are seconds.

    `max_attempts` counts the first attempt, which is made at once: seven attempts are one and six retries.
    Exponential: `base_seconds` is the first window, doubled for each retry up to `cap_seconds`.
    Schedule: `schedule_seconds` holds the wait before each retry, lengthened by up to the share `jitter`; when there
    are more retries than entries, the last entry repeats.
    `deadline_seconds` counts from the start of the budget. `timeout_seconds` None leaves it to the endpoint.
    """

    name: str
    kind: str = EXPONENTIAL
    base_seconds: int = 30
    cap_seconds: int = 12 * _HOUR
    schedule_seconds: tuple[int, ...] = ()
    jitter: float = 0.0
    max_attempts: int = 16
    deadline_seconds: int = 3 * _DAY
    timeout_seconds: int | None = None


SHIPPED: Final = (
    # At most 65 hours of waits, so that all 16 attempts happen inside the deadline.
    Policy("default"),
    # For people who want to name the hour of each retry: one attempt at once, six retries over a day and a half.
    Policy(
        "six-step",
        SCHEDULE,
        schedule_seconds=(_MINUTE, 5 * _MINUTE, 30 * _MINUTE, 2 * _HOUR, 10 * _HOUR, _DAY),
        jitter=0.1,
        max_attempts=7,
    ),
    # Stripe retries for up to three days with exponential backoff; same windows as the default.
    Policy("stripe", max_attempts=16, deadline_seconds=3 * _DAY, timeout_seconds=20),
    # Plaid names its waits: each four times the one before, from 30 seconds, for up to 24 hours.
    Policy(
        "plaid",
        SCHEDULE,
        schedule_seconds=(30, 120, 480, 1_920, 7_680, 30_720),
        jitter=0.1,
        max_attempts=7,
        deadline_seconds=_DAY,
        timeout_seconds=15,
    ),
    # Modern Treasury backs off exponentially, for a week; at most 4.8 days of waits.
    Policy("modern-treasury", max_attempts=20, deadline_seconds=7 * _DAY, timeout_seconds=30),
    # Adyen within a day; at most 14.5 hours of waits.
    Policy(
        "adyen",
        base_seconds=2 * _MINUTE,
        cap_seconds=6 * _HOUR,
        max_attempts=10,
        deadline_seconds=_DAY,
        timeout_seconds=30,
    ),
)
"""The policies a fresh installation gets as rows. Those named after a provider follow the budget (attempts, deadline,
timeout) it published for its own webhooks; providers change theirs, so read the numbers, not the name. Windows are ours
where a provider names none, chosen so that every attempt of the budget fits inside the deadline."""


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


def policy_faults(policy: Policy) -> dict[str, str]:
    """Return a sentence for each field that makes no sense, keyed by field name; empty when the policy is usable."""
    faults = _budget_faults(policy)
    if policy.kind == EXPONENTIAL:
        return faults | _exponential_faults(policy)
    if policy.kind == SCHEDULE:
        return faults | _schedule_faults(policy)
    return faults | {"kind": f"Choose {EXPONENTIAL} or {SCHEDULE}."}


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


def _budget_faults(policy: Policy) -> dict[str, str]:
    faults = {}
    if not 1 <= policy.max_attempts <= 100:
        faults["max_attempts"] = "Between 1 and 100 attempts, the first one included."
    if policy.deadline_seconds < 1:
        faults["deadline_seconds"] = "The deadline is at least 1 second."
    if policy.timeout_seconds is not None and not 1 <= policy.timeout_seconds <= 30:
        faults["timeout_seconds"] = "Between 1 and 30 seconds, or empty to use the endpoint's own."
    if not 0 <= policy.jitter <= 1:
        faults["jitter"] = "Between 0 and 1: the share of a wait that is added at random."
    return faults


def _exponential_faults(policy: Policy) -> dict[str, str]:
    faults = {}
    if policy.base_seconds < 1:
        faults["base_seconds"] = "The first window is at least 1 second."
    if policy.cap_seconds < max(policy.base_seconds, 1):
        faults["cap_seconds"] = "The cap is at least as long as the base."
    return faults


def _schedule_faults(policy: Policy) -> dict[str, str]:
    schedule, retries = policy.schedule_seconds, policy.max_attempts - 1
    if not schedule:
        sentence = "Name at least one wait."
    elif min(schedule) < 1:
        sentence = "Every wait is at least 1 second."
    elif list(schedule) != sorted(schedule):
        sentence = (
            "No wait is shorter than the one before, as a throttled delivery moves on to the next to wait longer."
        )
    elif len(schedule) > retries:
        sentence = (
            f"{len(schedule)} waits need {len(schedule) + 1} attempts, and the policy makes {policy.max_attempts}."
        )
    else:
        return {}
    return {"schedule_seconds": sentence}
