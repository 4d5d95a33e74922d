"""What all drains of a worker process share: the transport with its connections, the sending threads, the stop sign."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from deliveries.conf import conf
from deliveries.transport import HttpTransport, Transport
from endpoints.conf import allowed_networks

stopping = threading.Event()
"""Set when the worker is told to stop: nothing more is claimed, and what was not sent goes back."""


@lru_cache(maxsize=1)
def process_transport() -> Transport:
    """The HTTP transport of this process; its keep-alive connections serve every drain."""
    return HttpTransport(allowed_networks(), user_agent=conf().user_agent)


@lru_cache(maxsize=1)
def sending_threads() -> ThreadPoolExecutor:
    """The sending threads of this process. They hold no database connection: a waiting request costs none."""
    return ThreadPoolExecutor(conf().http_threads, thread_name_prefix="sending")
