"""The waits between the probes of a disabled endpoint."""

from datetime import timedelta
from random import Random

import pytest

from endpoints.probing import wait_before_probe


class Least(Random):
    def uniform(self, a, b):
        return a


class Most(Random):
    def uniform(self, a, b):
        return b


def minutes(tries, first, rng=None):
    return wait_before_probe(tries, first, rng or Least()) / timedelta(minutes=1)


def test_each_wait_is_twice_the_one_before_up_to_four_hours():
    assert [minutes(tries, 10) for tries in range(7)] == [10, 20, 40, 80, 160, 240, 240]
    assert minutes(5_000, 10) == 240


def test_a_first_wait_beyond_four_hours_stays_as_it_is():
    assert [minutes(tries, 600) for tries in (0, 3)] == [600, 600]


@pytest.mark.parametrize("tries", [0, 9])
def test_up_to_a_quarter_is_added_at_random(tries):
    assert minutes(tries, 10, Most()) == minutes(tries, 10) * 1.25
