"""Deliver what is due for a set of endpoints. What a wake-up sets off."""

from collections.abc import Sequence

from deliveries import dispatch
from deliveries.drain import beside, sending
from deliveries.drain.drain import Drain
from deliveries.transport import Transport


def deliver(endpoint_ids: Sequence[int], *, transport: Transport | None = None) -> dict[int, float]:
    """Send what is due for these endpoints, for as long as the budget lasts.

    Returns the waits, in seconds, of those that become due soon and have no earlier timer: the caller sets one. Raises
    RedisError or DatabaseError when it could not even begin; nothing has been claimed then.
    """
    return _drain(endpoint_ids, transport).run()


def deliver_in_turn(endpoint_ids: Sequence[int], *, transport: Transport | None = None) -> dict[int, float]:
    """The same, but what takes long goes on beside the calling thread and sets its timers itself."""
    drain = _drain(endpoint_ids, transport)
    waits = drain.run(for_seconds=beside.SHARE_SECONDS)
    if drain.is_finished or beside.take_over(drain):
        return waits
    return drain.run()


def _drain(endpoint_ids: Sequence[int], transport: Transport | None) -> Drain:
    slow = dispatch.silence(endpoint_ids)
    return Drain(endpoint_ids, slow, transport or sending.process_transport())
