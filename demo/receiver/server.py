"""Starts listening, says so, and runs until told to stop."""

import asyncio
import gc
import json
import os
import signal
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from demo.receiver.connection import Connection
from demo.receiver.desk import Desk
from demo.receiver.ledger import Ledger

BACKLOG = 1024


@dataclass(frozen=True, slots=True)
class Options:
    """How one receiver process runs; ``keep`` None keeps every request in memory."""

    host: str = "127.0.0.1"
    port: int = 0
    log: Path | None = None
    ready_file: Path | None = None
    keep: int | None = None
    log_bodies: bool = False
    until_stdin_closes: bool = False


def readiness(host: str, port: int) -> str:
    """The JSON line printed, and written to the ready file, once connections are accepted."""
    shown = f"[{host}]" if ":" in host else host
    return json.dumps({"url": f"http://{shown}:{port}", "host": host, "port": port, "pid": os.getpid()})


def announce(line: str, ready_file: Path | None) -> None:
    """Print the line; the ready file appears whole or not at all."""
    if ready_file is not None:
        draft = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
        draft.write_text(line + "\n")
        draft.rename(ready_file)
    print(line, flush=True)


def _stop_at_end(descriptor: int, stop: asyncio.Event) -> None:
    if not os.read(descriptor, 4096):
        stop.set()


async def serve(options: Options) -> None:
    """Serve until SIGTERM, SIGINT, or the end of standard input when that was asked for."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if options.until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _stop_at_end, sys.stdin.fileno(), stop)
    ledger = Ledger(options.log, keep=options.keep, log_bodies=options.log_bodies)
    desk = Desk(loop, ledger)
    server = await loop.create_server(lambda: Connection(desk), options.host, options.port, backlog=BACKLOG)
    announce(readiness(options.host, server.sockets[0].getsockname()[1]), options.ready_file)
    try:
        await stop.wait()
    finally:
        server.close()
        desk.end_turn()
        ledger.close()


def run(options: Options) -> None:
    """Run one receiver in this process."""
    # Kept requests are many, long-lived and free of cycles: full collections over them would only add pauses.
    gc.set_threshold(50_000, 50, 1000)
    # uvloop halves the cost of a request; where it is missing everything still works.
    import_module("uvloop" if find_spec("uvloop") else "asyncio").run(serve(options))
