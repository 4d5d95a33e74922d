"""Run the mixed scenario, or the cruelties named. The last line printed is the account as JSON."""

import argparse
import random
import signal
import sys
from importlib import import_module
from pathlib import Path

from tests.chaos import ground


def main() -> int:
    """0 when nothing was lost, no duplicate is unexplained, and everything came back in time."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to be cruel (default 600)")
    parser.add_argument("--seed", type=int, default=None, help="which cruelties and when; a random one is printed")
    parser.add_argument("--rate", type=float, default=50.0, help="events published a second (default 50)")
    parser.add_argument("--only", default="", help="cruelties by name, separated by commas, each once, in this order")
    parser.add_argument("--hurry", action="store_true", help="end the leases of the dead at once, for short runs")
    parser.add_argument("--report", type=Path, help="write what each cruelty led to into this file, as JSON")
    parser.add_argument("--logs", type=Path, help="keep what the processes say in this folder")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(1_000_000)
    # Everything started is ended on the way out, so ending must be an exception.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    with ground.prepared() as servers:
        # Imported late: it uses models, which need the settings that the ground has just made.
        return int(import_module("tests.chaos.scenario").run(servers, options))


if __name__ == "__main__":
    sys.exit(main())
