"""When a failed event is tried again: jittered, bounded, and longer for a dependency."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from inbox.errors import FailureClass
from inbox.retries import POLICIES, delay_seconds

RETRIED = sorted(POLICIES)


@given(st.sampled_from(RETRIED), st.integers(1, 40), st.integers())
def test_a_wait_is_between_nothing_and_the_window_until_the_budget_is_spent(failure, attempt, seed):
    policy = POLICIES[failure]

    delay = delay_seconds(failure, attempt, Random(seed))

    if attempt >= policy.max_attempts:
        assert delay is None
    else:
        assert 0 <= delay <= min(policy.cap_seconds, policy.base_seconds * 2 ** (attempt - 1))


def test_waits_are_spread_over_their_window():
    waits = [delay_seconds(FailureClass.DEPENDENCY, 1, Random(seed)) for seed in range(500)]

    assert min(waits) < 5
    assert max(waits) > 55
    assert len(set(waits)) == 500


def test_a_dependency_is_given_longer_than_a_passing_fault():
    def budget(failure):
        policy = POLICIES[failure]
        windows = range(policy.max_attempts - 1)
        return sum(min(policy.cap_seconds, policy.base_seconds * 2**n) for n in windows) / 2

    assert budget(FailureClass.DEPENDENCY) > 20 * budget(FailureClass.TRANSIENT) > 3600


def test_what_does_not_pass_by_itself_is_not_tried_again():
    for failure in set(FailureClass) - set(RETRIED):
        assert delay_seconds(failure, 1, Random(1)) is None
