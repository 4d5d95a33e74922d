"""The connect-time guard: resolve once, judge every address, dial one that was judged.

A check of the name before the request proves nothing, because the name may resolve differently a moment later (DNS
rebinding). Here the address judged and the address dialled are the same string.
"""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network

from deliveries.outcomes import Failure
from deliveries.transport.deadline import Call, TimedSocket
from deliveries.transport.faults import Fault, connect_fault
from deliveries.transport.lookups import Lookups, Resolver, is_literal
from endpoints.addressing import address_fault

Networks = Sequence[IPv4Network | IPv6Network]


class Dialler:
    """Opens guarded TCP connections. Safe to use from many threads."""

    def __init__(self, resolver: Resolver, allowed_networks: Networks) -> None:
        self._lookups = Lookups(resolver)
        self._allowed_networks = tuple(allowed_networks)

    def dial(self, host: str, port: int, call: Call) -> TimedSocket:
        """Connect to the first address that answers, and note it on the call. Raises Fault."""
        call.address = ""
        addresses = self._lookups.addresses(host, port, call)
        for address in addresses:
            self._judge(host, address)
        fault = Fault(Failure.DNS, f"there is no address for {host}")
        for tried, address in enumerate(addresses):
            call.address = address
            try:
                # The time left is shared, so that a silent first address leaves some for the next.
                return _connect(address, port, call.remaining() / (len(addresses) - tried), call)
            except OSError as error:
                fault = connect_fault(error, host, address, port, call.timeout_seconds)
        raise fault

    def _judge(self, host: str, address: str) -> None:
        reason = address_fault(address.partition("%")[0], self._allowed_networks)
        if reason is None:
            return
        where = host if is_literal(host) else f"{host} resolves to {address}, which"
        raise Fault(Failure.BLOCKED, f"{where} may not be called: {reason}")


def _connect(address: str, port: int, timeout_seconds: float, call: Call) -> TimedSocket:
    sock = TimedSocket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(timeout_seconds)
        sock.connect((address, port))
    except BaseException:
        sock.close()
        raise
    sock.call = call
    return sock
