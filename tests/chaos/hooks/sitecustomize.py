"""Runs at the start of every process of the crew, before anything else: what no command line could ask for.

CHAOS_PARENT         the process ends when this one is gone, so that a killed run leaves nothing behind
CHAOS_CLOCK_SECONDS  the wall clock is off by so much; the monotonic clock is not, as on a machine with a wrong clock
CHAOS_POISON         signing a body that holds this text kills the process, as a crash in a C library would
"""

import datetime
import hmac
import os
import threading
import time

POISONED_STATUS = 70


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _shift_clock(seconds: float) -> None:
    real_time, real_datetime = time.time, datetime.datetime
    shift = datetime.timedelta(seconds=seconds)

    class _Kind(type):
        # Times that come from C, such as a row's, are still times.
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real_datetime)

    class Shifted(real_datetime, metaclass=_Kind):  # type: ignore[misc, valid-type]
        @classmethod
        def now(cls, tz: "datetime.tzinfo | None" = None) -> "datetime.datetime":
            return real_datetime.now(tz) + shift

        @classmethod
        def utcnow(cls) -> "datetime.datetime":
            return real_datetime.now(datetime.UTC).replace(tzinfo=None) + shift

    time.time = lambda: real_time() + seconds
    datetime.datetime = Shifted  # type: ignore[misc]


def _poison(marker: bytes) -> None:
    real_digest = hmac.digest

    def digest(key: bytes, message: bytes, name: str) -> bytes:
        if marker in message:
            os._exit(POISONED_STATUS)
        return real_digest(key, message, name)

    hmac.digest = digest  # type: ignore[assignment]


if parent := os.environ.get("CHAOS_PARENT"):
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
if seconds := os.environ.get("CHAOS_CLOCK_SECONDS"):
    _shift_clock(float(seconds))
if marker := os.environ.get("CHAOS_POISON"):
    _poison(marker.encode())
