"""A process that publishes at a steady rate and writes down when each event was committed.

Told by lines on standard input, `RATE SECONDS FILE TYPE...`: it publishes events of these types in turn, on a schedule
that does not wait for a slow publish, and then the file is there: an event's id and the moment of its commit a line.
"""

import os
import signal
import sys
import time
from itertools import cycle, islice
from pathlib import Path

import django
from django.db import transaction

from bench.leash import tell_ready


def command() -> list[str]:
    """What starts one."""
    return [sys.executable, "-m", "bench.publisher"]


def read_commits(file: Path) -> dict[str, float]:
    """Event id -> seconds on the machine's monotonic clock."""
    pairs = (line.split() for line in file.read_text().splitlines())
    return {id: float(moment) for id, moment in pairs}


def main() -> None:
    """Serve until standard input ends."""
    django.setup()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    tell_ready()
    for line in sys.stdin:
        rate, seconds, file, *types = line.split()
        commits = _publish(float(rate), float(seconds), types)
        draft = Path(f"{file}.draft")
        draft.write_text("".join(f"{id} {moment:.6f}\n" for id, moment in commits.items()))
        draft.rename(file)


def _publish(rate: float, seconds: float, types: list[str]) -> dict[str, float]:
    # Imported late: it needs the apps.
    from deliveries.publishing import publish  # noqa: PLC0415

    moments: list[float] = []
    ids: list[str] = []
    began = time.monotonic()
    for number, type in enumerate(islice(cycle(types), int(rate * seconds))):
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        with transaction.atomic():
            # Called first of what follows the commit: the clock starts before anybody is rung for.
            transaction.on_commit(lambda: moments.append(time.monotonic()))
            ids.append(publish(type, {"number": number, "note": "x" * 400}).pk)
    return dict(zip(ids, moments, strict=True))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")
    main()
