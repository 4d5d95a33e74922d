"""Retry policies: the shipped ones make sense, and each rule is named with its field."""

from dataclasses import replace

import pytest

from endpoints.policies import DEFAULT_POLICY_NAME, SCHEDULE, SHIPPED, Policy, policy_faults

EXPONENTIAL_ONE = Policy("one")
SCHEDULED = Policy("two", SCHEDULE, schedule_seconds=(60, 60, 300), jitter=0.1, max_attempts=4)


@pytest.mark.parametrize("policy", SHIPPED, ids=lambda policy: policy.name)
def test_every_shipped_policy_makes_sense(policy: Policy) -> None:
    assert policy_faults(policy) == {}


def test_the_shipped_policies_have_names_of_their_own_and_the_default_is_among_them() -> None:
    names = [policy.name for policy in SHIPPED]

    assert len(set(names)) == len(names)
    assert DEFAULT_POLICY_NAME in names


@pytest.mark.parametrize(
    ("name", "attempts", "deadline_hours", "timeout_seconds"),
    [
        ("default", 16, 72, None),
        ("six-step", 7, 72, None),
        ("stripe", 16, 72, 20),
        ("plaid", 7, 24, 15),
        ("modern-treasury", 20, 168, 30),
        ("adyen", 10, 24, 30),
    ],
)
def test_the_shipped_budgets_are_the_documented_ones(
    name: str, attempts: int, deadline_hours: int, timeout_seconds: int | None
) -> None:
    policy = next(policy for policy in SHIPPED if policy.name == name)

    assert (policy.max_attempts, policy.deadline_seconds, policy.timeout_seconds) == (
        attempts,
        deadline_hours * 3_600,
        timeout_seconds,
    )


@pytest.mark.parametrize(
    ("policy", "field"),
    [
        (replace(EXPONENTIAL_ONE, max_attempts=0), "max_attempts"),
        (replace(EXPONENTIAL_ONE, max_attempts=101), "max_attempts"),
        (replace(EXPONENTIAL_ONE, deadline_seconds=0), "deadline_seconds"),
        (replace(EXPONENTIAL_ONE, timeout_seconds=0), "timeout_seconds"),
        (replace(EXPONENTIAL_ONE, timeout_seconds=31), "timeout_seconds"),
        (replace(EXPONENTIAL_ONE, base_seconds=0), "base_seconds"),
        (replace(EXPONENTIAL_ONE, base_seconds=60, cap_seconds=59), "cap_seconds"),
        (replace(EXPONENTIAL_ONE, kind="linear"), "kind"),
        (replace(SCHEDULED, jitter=-0.1), "jitter"),
        (replace(SCHEDULED, jitter=1.1), "jitter"),
        (replace(SCHEDULED, jitter=float("nan")), "jitter"),
        (replace(SCHEDULED, schedule_seconds=()), "schedule_seconds"),
        (replace(SCHEDULED, schedule_seconds=(0, 60)), "schedule_seconds"),
        (replace(SCHEDULED, schedule_seconds=(60, 59)), "schedule_seconds"),
        (replace(SCHEDULED, schedule_seconds=(1, 2, 3, 4)), "schedule_seconds"),
    ],
)
def test_a_policy_that_makes_no_sense_names_the_field_and_the_rule(policy: Policy, field: str) -> None:
    faults = policy_faults(policy)

    assert list(faults) == [field]
    assert faults[field].endswith(".")


@pytest.mark.parametrize(
    "policy",
    [
        EXPONENTIAL_ONE,
        SCHEDULED,
        replace(EXPONENTIAL_ONE, max_attempts=1),
        replace(EXPONENTIAL_ONE, max_attempts=100, timeout_seconds=1),
        replace(EXPONENTIAL_ONE, base_seconds=60, cap_seconds=60, timeout_seconds=30),
        replace(SCHEDULED, max_attempts=50),
    ],
)
def test_the_bounds_themselves_are_allowed(policy: Policy) -> None:
    assert policy_faults(policy) == {}


def test_all_faults_are_named_at_once() -> None:
    policy = replace(EXPONENTIAL_ONE, max_attempts=0, base_seconds=0, cap_seconds=0, deadline_seconds=-1)

    assert policy_faults(policy).keys() == {"max_attempts", "base_seconds", "cap_seconds", "deadline_seconds"}
