"""`python -m webhooks_project.embedded stop|remove`: for `make clean`, and for a server that outlived its users."""

import sys

from webhooks_project.boot import data_dir
from webhooks_project.embedded import remove, stop_if_unused

ACTIONS = {"stop": stop_if_unused, "remove": remove}


def main(argv: list[str]) -> int:
    """Do the named action on this checkout's data folder; 0 when done, 1 when the servers are in use, 2 on a typo."""
    if len(argv) != 1 or argv[0] not in ACTIONS:
        sys.stderr.write("usage: python -m webhooks_project.embedded stop|remove\n")
        return 2
    if not ACTIONS[argv[0]](data_dir()):
        sys.stderr.write(f"Some process still uses the servers of {data_dir()}; nothing was done.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
