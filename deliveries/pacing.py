"""How fast an endpoint may be sent to, held across all workers by one script on Redis.

One worker drains an endpoint at a time: it holds a short lease, renewed with every take, and that is what keeps the
concurrency cap and the order. The claim of the rows stays correct when the lease is lost. Times are Redis's own, so no
worker's clock counts; every key expires, so a forgotten endpoint leaves nothing behind.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import uuid4

from redis.commands.core import Script

from deliveries.redis_client import redis_client

LEASE_SECONDS = 30.0
"""Longer than any pause between two takes of a working drain, short enough that a dead worker's endpoint soon moves on."""

BURST_SECONDS = 0.2
"""How much of a rate limit may go out at once, so that a worker needs a few takes a second, not one a request."""

# The generic cell rate algorithm (ATM Forum TM 4.0, I.356), n cells at once: `tat` is the time at which the bucket
# would be full again. Returns {granted, milliseconds until more}, or {-1, 0} when another worker drains the endpoint;
# that worker is told to look again before it leaves.
_TAKE = """
local lease, again, hold, tat = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local token, lease_ms, wanted = ARGV[1], ARGV[2], tonumber(ARGV[3])
local interval, burst = tonumber(ARGV[4]), tonumber(ARGV[5])
local holder = redis.call('GET', lease)
if holder and holder ~= token then
    redis.call('SET', again, 1, 'PX', lease_ms)
    return {-1, 0}
end
redis.call('SET', lease, token, 'PX', lease_ms)
local held_ms = redis.call('PTTL', hold)
if held_ms > 0 then return {0, held_ms} end
if interval == 0 then return {wanted, 0} end
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local full_at = math.max(tonumber(redis.call('GET', tat) or 0), now)
local granted = math.max(0, math.min(wanted, math.floor((now - full_at) / interval + burst + 1e-6)))
full_at = full_at + granted * interval
if granted > 0 then
    redis.call('SET', tat, string.format('%.3f', full_at), 'PX', math.ceil(full_at - now) + 1000)
end
if granted == wanted then return {granted, 0} end
return {granted, math.max(1, math.ceil(full_at + interval - burst * interval - now))}
"""

# Returns 1 when somebody knocked while we held the lease: there may be work that we did not see.
_LEAVE = """
local knocked = redis.call('GETDEL', KEYS[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return knocked and 1 or 0
"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The answer to a take: how many requests may go now, and the seconds until more may."""

    granted: int
    wait_seconds: float
    busy: bool = False


def new_token() -> str:
    """Names one drain, so that only it renews and releases its leases."""
    return uuid4().hex


def take(token: str, wanted: Mapping[int, tuple[int, float | None]]) -> dict[int, Allowance]:
    """Ask for endpoints (id -> (requests wanted, limit a second or None)); one round trip for all of them.

    Takes or renews the drain lease of each. `busy` means that another worker drains the endpoint. Raises RedisError: with
    nobody to count, nothing may be sent.
    """
    pipeline = redis_client().pipeline(transaction=False)
    for id, (count, rate) in wanted.items():
        interval_ms = 1000 / rate if rate else 0
        args = [token, int(LEASE_SECONDS * 1000), count, interval_ms, burst_size(rate) if rate else 0]
        _take()(keys=_keys(id, "lease", "again", "hold", "tat"), args=args, client=pipeline)
    answers = dict(zip(wanted, pipeline.execute(), strict=True))
    return {
        id: Allowance(max(granted, 0), wait_ms / 1000, busy=granted < 0) for id, (granted, wait_ms) in answers.items()
    }


def leave(token: str, endpoint_ids: Collection[int]) -> set[int]:
    """Release the drain leases; returns the endpoints that somebody rang for in the meantime."""
    if not endpoint_ids:
        return set()
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        _leave()(keys=_keys(id, "lease", "again"), args=[token], client=pipeline)
    return {id for id, knocked in zip(endpoint_ids, pipeline.execute(), strict=True) if knocked}


def hold(endpoint_id: int, seconds: float) -> None:
    """Let nothing out to the endpoint for a while: it asked for a slower pace."""
    redis_client().set(_keys(endpoint_id, "hold")[0], 1, px=max(1, int(seconds * 1000)))


def burst_size(rate: float) -> int:
    """Requests that a limit of `rate` a second lets out at once."""
    return max(1, math.ceil(rate * BURST_SECONDS))


@lru_cache(maxsize=1)
def _take() -> Script:
    return redis_client().register_script(_TAKE)


@lru_cache(maxsize=1)
def _leave() -> Script:
    return redis_client().register_script(_LEAVE)


def _keys(endpoint_id: int, *names: str) -> list[str]:
    # The braces keep an endpoint's keys together on one node of a cluster.
    return [f"holdfast:{{{endpoint_id}}}:{name}" for name in names]
