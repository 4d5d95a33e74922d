"""One TCP connection: requests in order in, answers in order out, in whatever manner the plan says."""

import asyncio
import itertools
import socket
import struct
import time
from typing import cast

from demo.receiver.answers import Manner, response
from demo.receiver.control import Control
from demo.receiver.desk import Desk
from demo.receiver.parsing import Malformed, Request, RequestReader
from demo.receiver.records import Record

CONTROL_PREFIX = "/_"
LINGER_ZERO = struct.pack("ii", 1, 0)
_numbers = itertools.count(1)


class Connection(asyncio.Protocol):
    """Reads on only while nothing but immediate answers is owed, so that pipelined answers keep their order."""

    def __init__(self, desk: Desk) -> None:
        self.number = next(_numbers)
        self._desk = desk
        self._control = Control(desk)
        self._reader = RequestReader()
        self._busy = False
        self._owed: Record | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, not an assertion: the transports of uvloop do not inherit from those of asyncio.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if not self._busy:
            self._read_on()

    def eof_received(self) -> bool:
        self._desk.end_turn()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._owed is not None:
            self._leave(self._owed, answered=False)
        elif self._reader.mid_request and not self._busy:
            self._desk.ledger.add_broken("cut short", {"connection": self.number})

    def perform(self, record: Record) -> None:
        """Carry out the plan of a record."""
        plan = record.plan
        if self._transport.is_closing():
            self._leave(record, answered=False)
        elif plan.manner is Manner.NOW:
            self._transport.write(plan.data)
            self._finish(record)
        else:
            self._owed = record
            self._perform_oddly(record)

    def _perform_oddly(self, record: Record) -> None:
        plan = record.plan
        if plan.manner is Manner.LATER:
            self._timer = self._desk.loop.call_later(plan.seconds, self._send_rest, record, 0)
        elif plan.manner is Manner.DRIP:
            self._transport.write(plan.data[: plan.at_once])
            if plan.at_once and plan.accepts:
                record.route.tally.accept(record.webhook_id)
            self._drip(record, plan.at_once)
        elif plan.manner is Manner.RESET:
            # With lingering off, closing sends RST instead of FIN.
            sock: socket.socket = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_ZERO)
            self._transport.abort()
        elif plan.manner is Manner.HANG_UP:
            self._transport.close()

    def _drip(self, record: Record, position: int) -> None:
        data = record.plan.data
        if position + 1 == len(data):
            self._send_rest(record, position)
            return
        self._transport.write(data[position : position + 1])
        self._timer = self._desk.loop.call_later(record.plan.seconds, self._drip, record, position + 1)

    def _send_rest(self, record: Record, position: int) -> None:
        self._timer = self._owed = None
        self._transport.write(record.plan.data[position:])
        self._finish(record)
        self._desk.tell_waiters()
        self._resume()

    def _finish(self, record: Record) -> None:
        self._leave(record, answered=True)
        if record.plan.closes or not record.head.keep_alive:
            self._transport.close()

    def _leave(self, record: Record, *, answered: bool) -> None:
        tally = record.route.tally
        tally.leave()
        if answered:
            record.answered_monotonic = time.monotonic()
            if record.plan.accepts:
                tally.accept(record.webhook_id)
        else:
            record.left = record.plan.manner not in (Manner.RESET, Manner.HANG_UP)

    def _resume(self) -> None:
        self._busy = False
        if not self._transport.is_closing():
            self._read_on()

    def _read_on(self) -> None:
        try:
            while not self._busy and (request := self._reader.next()) is not None:
                self._handle(request)
        except Malformed as error:
            self._desk.ledger.add_broken(str(error), {"connection": self.number})
            self._desk.end_turn()
            self._transport.write(response(error.status, str(error).encode(), {"Connection": "close"}))
            self._transport.close()
            self._busy = True

    def _handle(self, request: Request) -> None:
        if request.head.target.startswith(CONTROL_PREFIX):
            self._desk.end_turn()
            self._busy = True
            self._control.answer(request, self._reply)
        elif self._desk.book(self, request).manner is not Manner.NOW or not request.head.keep_alive:
            self._busy = True

    def _reply(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
        self._resume()
