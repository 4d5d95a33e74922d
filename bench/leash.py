"""What a worker process does for the bench that started it: it says when it is ready, and it does not outlive it."""

import os
import signal
from pathlib import Path

READY_FOLDER = "BENCH_READY_FOLDER"
"""Environment variable: the folder in which a process that is ready leaves a file named by its process id."""


def tell_ready() -> None:
    """Say that the signal to begin finds this process waiting."""
    (Path(os.environ[READY_FOLDER]) / str(os.getpid())).touch()


def end_with_standard_input() -> None:
    """Wait for the end of standard input, then end this process in good order.

    The bench holds the other end of the pipe, and the kernel closes it however the bench ends.
    """
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
