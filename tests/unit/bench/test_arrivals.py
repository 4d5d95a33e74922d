"""What the benches say about arrival times."""

import pytest

from bench.arrivals import each_second, most_in_a_second, percentile, seconds_above


def test_the_busiest_second_may_begin_anywhere():
    assert most_in_a_second([0.0, 0.6, 0.9, 1.0, 1.5, 1.59, 3.0]) == 5
    assert most_in_a_second([0.0, 1.0, 2.0]) == 1
    assert most_in_a_second([]) == 0


def test_seconds_above_are_counted_apart():
    burst = [0.0, 0.1, 0.2, 0.3]
    assert seconds_above(burst, 3) == 1
    assert seconds_above([*burst, *(5 + moment for moment in burst)], 3) == 2
    assert seconds_above([*burst, *(5 + moment for moment in burst)], 4) == 0


def test_each_second_has_its_own_count():
    assert each_second([10.0, 10.9, 11.0, 12.5], 10.0, 3) == [2, 1, 1]


def test_a_percentile_is_a_value_that_was_measured():
    values = [float(number) for number in range(1, 101)]
    assert [percentile(values, percent) for percent in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert percentile([7.0], 95) == 7.0
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 95)
