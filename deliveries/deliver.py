"""Deliver what is due for a set of endpoints. What a wake-up sets off."""

from collections.abc import Sequence

from deliveries import dispatch
from deliveries.drain import sending
from deliveries.drain.drain import Drain
from deliveries.transport import Transport


def deliver(endpoint_ids: Sequence[int], *, transport: Transport | None = None) -> dict[int, float]:
    """Send what is due for these endpoints, for as long as the budget lasts.

    Returns the waits, in seconds, of those that become due soon and have no earlier timer: the caller sets one. Raises
    RedisError or DatabaseError when it could not even begin; nothing has been claimed then.
    """
    slow = dispatch.silence(endpoint_ids)
    return Drain(endpoint_ids, slow, transport or sending.process_transport()).run()
