"""The database's clock in a worker: set by one thread, read by many."""

import time
from datetime import UTC, datetime, timedelta

from deliveries.drain.attempt import DatabaseClock


def test_a_thread_that_reads_while_the_clock_is_set_never_sees_half_of_it(monkeypatch):
    # The monotonic clock jumps a minute at each look, so a mixed pair would be at least a minute off.
    ticks = iter(range(0, 10**9, 60))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    clock = DatabaseClock(datetime(2026, 1, 1, tzinfo=UTC))
    known, read_at = clock._reading

    clock.set(known + timedelta(hours=1))

    assert clock._reading == (known + timedelta(hours=1), read_at + 60)
