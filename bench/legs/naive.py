"""The leg of one Celery task a delivery."""

import os
from collections.abc import Sequence

import redis

from bench import backlog
from bench.backlog import Destination
from bench.legs import naive_app
from bench.legs.celery_leash import leashed_worker
from bench.legs.leg import Leg


def naive(_destinations: Sequence[Destination]) -> Leg:
    """A message for every delivery. Sending them is not counted: all wait in the queue when the clock starts."""
    return Leg(
        name="naive",
        command=_command,
        brief=lambda _crew: _enqueue_aside(backlog.delivery_ids()),
        ring=lambda _crew: _let_in(),
    )


def _command(number: int) -> list[str]:
    """The same worker of another application."""
    command = leashed_worker(f"bench-{number}", (naive_app.QUEUE,))
    command[command.index("webhooks_project")] = naive_app.__name__
    return command


def _enqueue_aside(delivery_ids: Sequence[int]) -> None:
    """Fill a queue that nobody reads."""
    app = naive_app.app
    with app.producer_pool.acquire(block=True) as producer:
        for delivery_id in delivery_ids:
            app.send_task(naive_app.deliver.name, args=[delivery_id], queue=naive_app.ASIDE, producer=producer)


def _let_in() -> None:
    """Give that queue the name which the workers read."""
    with redis.Redis.from_url(os.environ["BROKER_URL"]) as broker:
        broker.rename(naive_app.ASIDE, naive_app.QUEUE)
