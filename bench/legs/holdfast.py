"""The leg of Holdfast itself."""

from collections.abc import Sequence

from bench.backlog import Destination
from bench.errors import BenchFailed
from bench.legs.celery_leash import leashed_worker
from bench.legs.leg import Leg
from deliveries import dispatch
from webhooks_project.roles import HEALTHY_QUEUES, SLOW_QUEUES


def holdfast(destinations: Sequence[Destination]) -> Leg:
    """Production's workers, and one ring for all endpoints, as after a commit."""
    endpoint_ids = [destination.id for destination in destinations]
    return Leg(
        name="holdfast",
        command=lambda number: leashed_worker(f"bench-{number}", HEALTHY_QUEUES + SLOW_QUEUES),
        brief=lambda _crew: None,
        ring=lambda _crew: _ring(endpoint_ids),
    )


def _ring(endpoint_ids: Sequence[int]) -> None:
    # A ring that fails is left to the sweep, which does not run here.
    if dispatch.wake(endpoint_ids) != len(endpoint_ids):
        raise BenchFailed("Not every endpoint could be rung for.")
