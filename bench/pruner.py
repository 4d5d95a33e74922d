"""A process that prunes when it is told to, so that what it costs others is not its own start.

Told by lines on standard input, `SECONDS FILE`: it prunes for so long, goes on where it stopped the time before, and
then the file is there: what was deleted, and whether that was all, as JSON.
"""

import json
import os
import signal
import sys
from pathlib import Path

import django
from django.utils import timezone

from bench.leash import tell_ready


def command() -> list[str]:
    """What starts one."""
    return [sys.executable, "-m", "bench.pruner"]


def main() -> None:
    """Serve until standard input ends."""
    django.setup()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # Imported late: it needs the apps.
    from deliveries.prune import Retention, prune  # noqa: PLC0415

    stop = None
    tell_ready()
    for line in sys.stdin:
        seconds, file = line.split()
        pruned = prune(Retention.configured(), now=timezone.now(), budget_seconds=float(seconds), start=stop)
        stop = pruned.stop
        draft = Path(f"{file}.draft")
        draft.write_text(json.dumps({"events": pruned.events, "is_complete": pruned.is_complete}))
        draft.rename(file)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webhooks_project.settings")
    main()
