"""What arrival times say: how many came in a second, and when (pure). Times are seconds of one monotonic clock."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise


def most_in_a_second(arrivals: Sequence[float]) -> int:
    """The most arrivals within any one second, wherever it begins; `arrivals` ascend."""
    return max((_from(arrivals, index) for index in range(len(arrivals))), default=0)


def seconds_above(arrivals: Sequence[float], allowed: int) -> int:
    """How many seconds, wherever they begin and none counted twice, brought more arrivals than allowed."""
    seconds = index = 0
    while index < len(arrivals):
        count = _from(arrivals, index)
        if count > allowed:
            seconds, index = seconds + 1, index + count
        else:
            index += 1
    return seconds


def each_second(arrivals: Sequence[float], begin: float, seconds: int) -> list[int]:
    """How many came in each second from `begin` on."""
    marks = [bisect_left(arrivals, begin + second) for second in range(seconds + 1)]
    return [after - before for before, after in pairwise(marks)]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed (nearest rank). Raises ValueError on none."""
    if not values:
        raise ValueError("There is no percentile of nothing.")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def _from(arrivals: Sequence[float], index: int) -> int:
    return bisect_left(arrivals, arrivals[index] + 1.0, lo=index) - index
