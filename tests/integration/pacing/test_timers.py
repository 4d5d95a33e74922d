"""Timers come back on the queue where their endpoint belongs."""

import json

import pytest
from celery.exceptions import Retry

from deliveries import dispatch
from deliveries.redis_client import redis_client
from deliveries.tasks import deliver

pytestmark = pytest.mark.usefixtures("empty_redis")


def waiting_in(queue: str) -> list[list[int]]:
    """The endpoint ids of each message in a queue."""
    return [json.loads(json.loads(text)["headers"]["argsrepr"])[0] for text in redis_client().lrange(queue, 0, -1)]


def test_a_slow_endpoint_never_comes_back_to_the_healthy_workers(monkeypatch):
    dispatch.mark_slow([2])
    monkeypatch.setattr("deliveries.tasks.deliver_in_turn", lambda _ids: {1: 5.0, 2: 7.0, 3: 6.0})
    asked = {}
    monkeypatch.setattr(deliver, "retry", lambda **options: asked.update(options) or Retry())

    with pytest.raises(Retry):
        deliver.run([1, 2, 3])

    assert asked == {"args": [[1, 3]], "queue": "deliveries", "countdown": 5.0}
    assert waiting_in("deliveries.slow") == [[2]]


def test_a_drain_that_went_on_beside_the_task_sets_its_timers_itself():
    dispatch.mark_slow([2])

    dispatch.send_timers({1: 5.0, 2: 7.0, 3: 6.0})
    dispatch.send_timers({})

    assert (waiting_in("deliveries"), waiting_in("deliveries.slow")) == ([[1, 3]], [[2]])


@pytest.mark.parametrize(
    ("slow", "queue", "ids"),
    [([], "deliveries", {1, 2}), ([1], "deliveries", {2}), ([1, 2], "deliveries.slow", {1, 2})],
)
def test_a_task_comes_back_for_one_kind_of_endpoint(slow, queue, ids):
    dispatch.mark_slow(slow)

    got, waits = dispatch.route_timers({1: 5.0, 2: 7.0})

    assert (got, set(waits)) == (queue, ids)
    assert dispatch.countdown(waits) == min(waits.values())
