"""`python -m bench [NAME]`: run every bench, or one. The last line printed is the figures as JSON."""

import argparse
import json
import signal
import sys
from importlib import import_module

from bench import ground
from bench.errors import BenchFailed, PromiseBroken

BENCHES = ("drain", "pacing", "isolation", "recovery", "door", "loopback", "prune", "memory", "scrape")


def main(argv: list[str]) -> int:
    """Run what is asked for; 0 when all of it was measured, 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=BENCHES, help="one bench; without it, all of them")
    names = [parser.parse_args(argv).name] if argv else BENCHES
    # Processes and databases are cleaned up on the way out of the with blocks, so ending must be an exception.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    figures: dict[str, float] = {}
    try:
        with ground.prepared():
            for name in names:
                # Imported late: a bench may use models, which need the settings that the ground has just made.
                figures |= import_module(f"bench.{name}").run()
    except BenchFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        if isinstance(failure, PromiseBroken):
            print(json.dumps(figures | failure.figures))
        return 1
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
