"""What pacing knows of endpoints, for the admin, the commands and the sweep."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from deliveries.pacing import rules
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client


@dataclass(frozen=True, slots=True)
class Flow:
    """The pace of one endpoint at this moment. Times are seconds from now; None where it does not apply."""

    circuit: str = "closed"
    probe_in: float | None = None
    times_opened: int = 0
    failures_in_a_row: int = 0
    window_good: int = 0
    window_bad: int = 0
    held_for: float | None = None
    hold_reason: str = ""
    ramp_seconds: float | None = None
    ramp_reason: str = ""
    is_draining: bool = False
    is_slow: bool = False

    @property
    def queue(self) -> str:
        """The queue its wake-ups go to."""
        return "deliveries.slow" if self.is_slow else "deliveries"

    @property
    def wait_seconds(self) -> float:
        """How long nothing at all may be sent."""
        return max(self.held_for or 0.0, self.probe_in or 0.0)

    def rate_now(self, limit: float | None) -> float | None:
        """Requests a second it may get at this moment, given its configured limit; None without any limit."""
        if self.wait_seconds > 0:
            return 0.0
        if self.ramp_seconds is None:
            return limit
        return rules.ramp_rate(limit or rules.RAMP_FULL_PER_SECOND, self.ramp_seconds)

    def sentence(self, limit: float | None) -> str:
        """The pace in words, with its reason."""
        if self.held_for:
            return f"Held for {self.held_for:.0f} s more: the endpoint {self.hold_reason}."
        if self.circuit == "open":
            return (
                f"Circuit open ({self.times_opened}.): nothing is sent until one probe in {self.probe_in or 0:.0f} s."
            )
        if self.circuit == "half-open":
            return "Circuit half-open: one probe is on its way."
        rate = self.rate_now(limit)
        if self.ramp_seconds is not None:
            return (
                f"On a ramp ({self.ramp_reason}): {rate:.1f} requests a second now, "
                f"full in {max(rules.RAMP_SECONDS - self.ramp_seconds, 0):.0f} s."
            )
        return "No limit." if rate is None else f"At its limit of {rate:g} requests a second."


def describe(endpoint_ids: Collection[int]) -> dict[int, Flow]:
    """The pace of endpoints, in one round trip."""
    if not endpoint_ids:
        return {}
    pipeline = redis_client().pipeline(transaction=False)
    pipeline.time()
    for id in endpoint_ids:
        lease, flow, slow = keys(id, "lease", "flow", "slow")
        pipeline.hgetall(flow)
        pipeline.exists(lease)
        pipeline.exists(slow)
    (seconds, microseconds), *answers = pipeline.execute()
    now_ms = seconds * 1000 + microseconds / 1000
    triples = zip(answers[::3], answers[1::3], answers[2::3], strict=True)
    return {
        id: _flow({k.decode(): v.decode() for k, v in raw.items()}, now_ms, bool(lease), bool(slow))
        for id, (raw, lease, slow) in zip(endpoint_ids, triples, strict=True)
    }


def circuits(endpoint_ids: Sequence[int]) -> dict[str, int]:
    """How many of these endpoints have their circuit closed, open or half-open, in one round trip."""
    pipeline = redis_client().pipeline(transaction=False)
    for id in endpoint_ids:
        pipeline.hget(keys(id, "flow")[0], "circuit")
    return dict(Counter(raw.decode() if raw else "closed" for raw in pipeline.execute()))


def waits(endpoint_ids: Collection[int]) -> dict[int, float]:
    """Of these endpoints, those to which nothing may be sent for now, and the seconds that lasts."""
    return {id: flow.wait_seconds for id, flow in describe(endpoint_ids).items() if flow.wait_seconds > 0}


def _flow(raw: dict[str, str], now_ms: float, is_draining: bool, is_slow: bool) -> Flow:
    def until(name: str) -> float | None:
        left = (float(raw[name]) - now_ms) / 1000 if name in raw else 0.0
        return left if left > 0 else None

    elapsed = (now_ms - float(raw["ramp_at"])) / 1000 if "ramp_at" in raw else None
    return Flow(
        circuit=raw.get("circuit", "closed"),
        probe_in=until("probe_at") if "circuit" in raw else None,
        times_opened=int(raw.get("opened", 0)),
        failures_in_a_row=int(raw.get("streak", 0)),
        window_good=int(raw.get("good", 0)),
        window_bad=int(raw.get("bad", 0)),
        held_for=until("held_until"),
        hold_reason=raw.get("hold_reason", ""),
        ramp_seconds=elapsed if elapsed is not None and elapsed < rules.RAMP_SECONDS else None,
        ramp_reason=raw.get("ramp_reason", ""),
        is_draining=is_draining,
        is_slow=is_slow,
    )
