"""The pace of an endpoint on its page: limits, circuit, ramp and queue, each with its reason."""

from redis import RedisError

from console.page import Table
from deliveries.pacing import Flow, describe, rules
from endpoints.models import Endpoint

UNKNOWN = "Unknown: Redis does not answer."


def flow_of(endpoint: Endpoint) -> Flow | None:
    """The endpoint's pace at this moment; None while Redis is away."""
    try:
        return describe([endpoint.pk])[endpoint.pk]
    except RedisError:
        return None


def pace_table(endpoint: Endpoint) -> Table:
    """What holds the endpoint back, or does not, and why."""
    flow = flow_of(endpoint)
    if flow is None:
        return Table("Pace", ("", ""), [], empty=UNKNOWN)
    limit = endpoint.rate_limit_per_second
    rate = flow.rate_now(limit)
    rows = [
        ("Now", flow.sentence(limit)),
        ("Limit", f"{limit:g} requests a second" if limit else "none"),
        ("Allowed now", "as fast as it answers" if rate is None else f"{rate:.1f} requests a second"),
        ("Requests in flight at most", "1, in strict sequence" if endpoint.ordered else endpoint.max_concurrency),
        ("Circuit", _circuit(flow)),
        ("Last minute", f"{flow.window_good} answered, {flow.window_bad} failed"),
        ("Queue", flow.queue + (", as it fails or answers slowly" if flow.is_slow else "")),
        ("Being drained by a worker", "yes" if flow.is_draining else "no"),
    ]
    if endpoint.ordered:
        rows.append(("Dead letter in the way", "blocks" if endpoint.dead_letter_blocks else "steps aside"))
    return Table("Pace", ("", ""), rows)


def _circuit(flow: Flow) -> str:
    if flow.circuit == "closed":
        return f"closed; {flow.failures_in_a_row} of {rules.OPEN_STREAK} failures in a row that would open it"
    return f"{flow.circuit}, opened {flow.times_opened} times in a row"
