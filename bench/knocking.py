"""Somebody at the door: requests at a steady rate, whether or not the earlier ones have been answered."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Knock:
    """One answered request: from the moment it was due, so that a queue in front of the door counts."""

    status: int
    milliseconds: float


async def knock(port: int, requests: Sequence[bytes], per_second: float, connections: int) -> list[Knock]:
    """Send the requests over so many keep-alive connections; each is due `1 / per_second` after the one before it."""
    waiting: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
    knocks: list[Knock] = []

    async def carry() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (due := await waiting.get()) is not None:
            at, request = due
            writer.write(request)
            status = await _status(reader)
            knocks.append(Knock(status, (time.perf_counter() - at) * 1000))
        writer.close()

    carriers = [asyncio.create_task(carry()) for _ in range(connections)]
    start = time.perf_counter() + 0.1
    for number, request in enumerate(requests):
        at = start + number / per_second
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        waiting.put_nowait((at, request))
    for _ in carriers:
        waiting.put_nowait(None)
    await asyncio.gather(*carriers)
    return knocks


async def _status(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b":0")
    await reader.readexactly(int(length.partition(b":")[2]))
    return int(head.split(b" ", 2)[1])
