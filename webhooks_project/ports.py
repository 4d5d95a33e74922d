"""A port to listen on: the wanted one, or the next free one."""

import socket

HOST = "127.0.0.1"
TRIES = 100


def free_port(wanted: int) -> int:
    """Return the first port from `wanted` on that nobody listens on. Raises `OSError` after 100 taken ones."""
    for port in range(wanted, min(wanted + TRIES, 65536)):
        if _is_free(port):
            return port
    raise OSError(f"No free port between {wanted} and {wanted + TRIES - 1}.")


def unused_port() -> int:
    """Return some port that nobody listens on at this moment, as the system picks it."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As the servers do: connections of a server that just stopped do not make the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
