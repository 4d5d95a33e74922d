"""A process that publishes steadily, and writes down each event once its commit has returned.

A line of its ledger is thus a promise that was given: that event must arrive, whatever dies from here on.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import django
from django.db import DatabaseError, InterfaceError, connection, transaction

from tests.chaos import cast

LATE_SECONDS = 1.0
"""Further behind than this it does not catch up: a publisher that hung for long must not come back as a flood."""


def command(ledger: Path, rate: float, seed: int) -> list[str]:
    """What starts one."""
    return [sys.executable, "-m", "tests.chaos.publisher", str(ledger), str(rate), str(seed)]


class Ledger:
    """The ids of committed events, a line each, on disk when `add` returns to the caller."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, ids: Iterable[str]) -> None:
        os.write(self._file, "".join(f"{id}\n" for id in ids).encode())


def main() -> None:
    """Publish until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("ledger", type=Path)
    parser.add_argument("rate", type=float)
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    django.setup()
    _publish(Ledger(options.ledger), options.rate, random.Random(options.seed))


def _publish(ledger: Ledger, rate: float, rng: random.Random) -> None:
    # Imported late: it needs the apps.
    from deliveries.publishing import publish  # noqa: PLC0415

    types, weights = list(cast.WEIGHTS), list(cast.WEIGHTS.values())
    number, due = 0, time.monotonic()
    while True:
        number, due = number + 1, max(due + rng.expovariate(rate), time.monotonic() - LATE_SECONDS)
        time.sleep(max(0.0, due - time.monotonic()))
        (type,) = rng.choices(types, weights)
        try:
            with transaction.atomic():
                event = publish(type, {"number": number, "note": "x" * 200}, tenant=cast.TENANT)
        except (DatabaseError, InterfaceError) as error:
            # Whether it was committed is not known; it was not promised.
            print(f"not published: {error}", flush=True)
            connection.close()
            time.sleep(0.2)
        else:
            ledger.add([event.pk])


if __name__ == "__main__":
    main()
