"""Retry policies as values: what one says, which ones are shipped, and which make no sense. Pure.

`deliveries.retries` decides with them; `endpoints.models.RetryPolicy` keeps them as rows.
"""

from dataclasses import dataclass
from typing import Final

EXPONENTIAL: Final = "exponential"
SCHEDULE: Final = "schedule"
DEFAULT_POLICY_NAME: Final = "default"

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
    # Modern Treasury backs off exponentially, here for a week; at most 4.8 days of waits.
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
timeout) of its own webhooks as published when this was written; providers change theirs, so read the numbers, not the
name. Windows are ours where a provider names none, chosen so that all attempts fit inside the deadline."""


DEFAULT_POLICY: Final = SHIPPED[0]
"""What holds for endpoints that name no policy when the row of that name is gone."""


def policy_faults(policy: Policy) -> dict[str, str]:
    """Return a sentence for each field that makes no sense, keyed by field name; empty when the policy is usable."""
    faults = _budget_faults(policy)
    if policy.kind == EXPONENTIAL:
        return faults | _exponential_faults(policy)
    if policy.kind == SCHEDULE:
        return faults | _schedule_faults(policy)
    return faults | {"kind": f"Choose {EXPONENTIAL} or {SCHEDULE}."}


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
