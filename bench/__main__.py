"""`python -m bench [NAME]`: run every bench, or one. The last line printed is the figures as JSON."""

import argparse
import contextlib
import json
import signal
import subprocess
import sys
from importlib import import_module

from bench import ground
from bench.crew import REPOSITORY
from bench.errors import BenchFailed, PromiseBroken

BENCHES = ("drain", "pacing", "isolation", "recovery", "door", "loopback", "prune", "memory", "scrape")

COMMAND = [sys.executable, "-m", "bench"]


def main(argv: list[str]) -> int:
    """Run what is asked for; 0 when all of it was measured, 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="?", choices=BENCHES, help="one bench; without it, all of them")
    name = parser.parse_args(argv).name
    # Processes and databases are cleaned up on the way out of the with blocks, so ending must be an exception.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    return _run(name) if name else _run_all()


def _run(name: str) -> int:
    try:
        with ground.prepared():
            # Imported late: a bench may use models, which need the settings that the ground has just made.
            figures = import_module(f"bench.{name}").run()
    except BenchFailed as failure:
        print(f"\n{failure}", file=sys.stderr)
        if isinstance(failure, PromiseBroken):
            print(json.dumps(failure.figures))
        return 1
    print(json.dumps(figures))
    return 0


def _run_all() -> int:
    """Each in a process and on ground of its own: none finds what another left."""
    status = 0
    figures: dict[str, float] = {}
    for name in BENCHES:
        lines: list[str] = []
        with subprocess.Popen([*COMMAND, name], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as bench:
            try:
                for line in bench.stdout or ():
                    print(line, end="", flush=True)
                    lines.append(line)
            except BaseException:
                bench.terminate()
                raise
        status |= bench.returncode != 0
        with contextlib.suppress(ValueError, IndexError):
            figures |= json.loads(lines[-1])
        print(flush=True)
    print(json.dumps(figures))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
