"""``python -m demo.receiver``: run the receiver from a shell."""

import argparse
from pathlib import Path

from demo.receiver import behaviours
from demo.receiver.server import Options, run


def main() -> None:
    """Read the arguments and run until stopped."""
    words = ", ".join("/" + word for word in sorted(behaviours.WORDS))
    parser = argparse.ArgumentParser(prog="python -m demo.receiver", description=f"HTTP receiver. Behaviours: {words}")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (default)")
    parser.add_argument("--log", type=Path, help="append one JSON line a request to this file, before it is answered")
    parser.add_argument("--log-bodies", action="store_true", help="whole bodies in the log, not only their SHA-256")
    parser.add_argument("--ready-file", type=Path, help="written once connections are accepted")
    parser.add_argument("--keep", type=int, help="how many requests stay in memory (default: all)")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when standard input ends")
    run(Options(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
