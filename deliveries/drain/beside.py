"""Drains that take long go on beside the worker's own threads, which are then free for the next wake-up.

Otherwise a few endpoints that hang, or drain slowly at their rate limit, would hold every thread of a worker, and the
wake-ups of all others would wait behind them.
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Final

from django.db import close_old_connections

from deliveries import dispatch
from deliveries.conf import conf
from deliveries.drain.drain import Drain

logger = logging.getLogger(__name__)

SHARE_SECONDS: Final = 0.3
"""How long a drain may hold a worker's thread: most are through by then, and moving one costs less than that."""


def take_over(drain: Drain) -> bool:
    """Let a drain go on here; false when every place is taken, and whoever began it has to finish it."""
    if not _places().acquire(blocking=False):
        return False
    try:
        _threads().submit(_finish, drain)
    except RuntimeError:
        # The process is ending.
        _places().release()
        return False
    return True


def _finish(drain: Drain) -> None:
    try:
        close_old_connections()
        dispatch.send_timers(drain.run())
    except Exception:
        # Rows lapse and the sweep rings again, as after a worker's death.
        logger.exception("a drain ended early")
    finally:
        _places().release()


@lru_cache(maxsize=1)
def _places() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(conf().long_drains)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    """They end with the process only when their drains have, so a graceful stop waits for what is in flight."""
    return ThreadPoolExecutor(conf().long_drains, thread_name_prefix="drain")
