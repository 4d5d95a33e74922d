"""Which endpoints somebody attends to: a bell rings, a timer is set, a worker drains it, or it was held until now."""

from collections.abc import Mapping, Sequence

import redis

from deliveries.redis_client import redis_client

_SIGNS = ("bell", "timer", "lease", "excuse")


def excuse(seconds: Mapping[int, float]) -> None:
    """Count endpoints as attended for so long: what is held grows overdue, and no lost message is to blame."""
    if not seconds:
        return
    pipeline = redis_client().pipeline(transaction=False)
    for id, duration in seconds.items():
        pipeline.set(f"holdfast:{{{id}}}:excuse", 1, px=max(1, int(duration * 1000)))
    pipeline.execute()


def attended(endpoint_ids: Sequence[int]) -> set[int]:
    """Those of the endpoints for which work is on its way; all of them when Redis cannot be asked."""
    if not endpoint_ids:
        return set()
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.exists(*(f"holdfast:{{{id}}}:{sign}" for sign in _SIGNS))
    try:
        answers = pipeline.execute()
    except redis.RedisError:
        return set(endpoint_ids)
    return {id for id, signs in zip(endpoint_ids, answers, strict=True) if signs}
