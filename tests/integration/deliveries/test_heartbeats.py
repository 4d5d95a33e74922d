"""Signs of life: by Redis's clock alone, from a real worker, and gone when it is told to stop."""

import signal
import subprocess
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from celery.worker import state
from django.conf import settings

from deliveries import worker_life
from deliveries.redis_client import redis_client
from deliveries.watch import heartbeats
from tests.acceptance.processes import worker_environment
from tests.acceptance.waiting import eventually
from tests.broker import away
from webhooks_project import roles

pytestmark = pytest.mark.usefixtures("empty_redis")


def let_pass(key: str, seconds: float) -> None:
    """Let everything noted under the key have been said so much earlier."""
    for field, raw in redis_client().hgetall(key).items():
        at, _, words = raw.decode().partition(" ")  # type: ignore[union-attr]
        redis_client().hset(key, field, f"{float(at) - seconds:.3f} {words}")


def test_a_worker_is_seen_with_its_queues_until_it_leaves():
    heartbeats.beat("slow@here", ["deliveries.slow"], 1.5)
    heartbeats.beat("healthy@here", ["deliveries", "upkeep"])

    healthy, slow = heartbeats.workers()
    assert (healthy.name, healthy.queues, healthy.busy_seconds) == ("healthy@here", ("deliveries", "upkeep"), None)
    assert (slow.name, slow.busy_seconds) == ("slow@here", 1.5)
    assert 0 <= slow.seen_seconds_ago < 5
    heartbeats.leave("slow@here")
    assert [worker.name for worker in heartbeats.workers()] == ["healthy@here"]


def test_a_worker_that_was_killed_is_gone_after_three_missed_beats_and_forgotten_after_a_day():
    heartbeats.beat("healthy@here", ["deliveries"])

    let_pass(heartbeats.WORKERS_KEY, 3 * heartbeats.BEAT_SECONDS)
    assert len(heartbeats.workers()) == 1
    let_pass(heartbeats.WORKERS_KEY, heartbeats.BEAT_SECONDS + 1)
    assert heartbeats.workers() == []
    assert redis_client().hlen(heartbeats.WORKERS_KEY) == 1
    let_pass(heartbeats.WORKERS_KEY, heartbeats.KEEP_SECONDS)
    heartbeats.workers()
    assert redis_client().hlen(heartbeats.WORKERS_KEY) == 0


@pytest.mark.parametrize("minutes", [-5, 5])
def test_a_clock_that_is_minutes_off_makes_nobody_dead_or_immortal(monkeypatch, minutes):
    monkeypatch.setattr(time, "time", lambda real=time.time: real() + 60 * minutes)
    heartbeats.beat("healthy@here", ["deliveries"])
    heartbeats.note("due")
    monkeypatch.undo()

    assert heartbeats.workers()[0].seen_seconds_ago < 5
    assert heartbeats.ages()["due"] < 5


def test_a_duty_that_was_never_done_is_missing_and_one_that_was_has_its_age():
    heartbeats.note("due")
    let_pass(heartbeats.DUTIES_KEY, 40)

    assert set(heartbeats.ages()) == {"due"}
    assert heartbeats.ages()["due"] == pytest.approx(40, abs=5)


def test_what_nobody_speaks_of_any_more_does_not_stay_in_redis():
    heartbeats.beat("healthy@here", ["deliveries"])
    heartbeats.note("due")

    assert 0 < redis_client().ttl(heartbeats.WORKERS_KEY) <= heartbeats.KEEP_SECONDS
    assert 0 < redis_client().ttl(heartbeats.DUTIES_KEY) <= heartbeats.KEEP_SECONDS


def test_a_duty_is_done_also_when_redis_cannot_be_told(caplog):
    with away():
        heartbeats.note("due")

    assert "nobody is told that due was done" in caplog.text


def test_the_oldest_task_of_a_worker_says_how_long_it_has_been_busy():
    assert worker_life._oldest_task_seconds() is None
    requests = [SimpleNamespace(time_start=begun) for begun in (time.time() - 400, time.time() - 3, None)]
    hashable = [type("Request", (), vars(request))() for request in requests]
    for request in hashable:
        state.active_requests.add(request)
    try:
        assert worker_life._oldest_task_seconds() == pytest.approx(400, abs=5)
    finally:
        state.active_requests.clear()


class TestARealWorker:
    @pytest.fixture
    def worker(self, db, tmp_path) -> Iterator[subprocess.Popen[bytes]]:
        with (tmp_path / "worker.log").open("wb") as log:
            process = subprocess.Popen(
                roles.worker("watched", roles.HEALTHY_QUEUES),
                cwd=settings.BASE_DIR,
                env=worker_environment(tmp_path),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        yield process
        process.kill()
        process.wait()

    def test_it_appears_with_its_queues_and_disappears_when_it_is_told_to_stop(self, worker):
        [seen] = eventually(heartbeats.workers, within=60)

        assert seen.name.startswith("watched@")
        assert seen.queues == tuple(sorted(roles.HEALTHY_QUEUES))
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(20) == 0
        assert heartbeats.workers() == []

    def test_it_is_heard_again_after_redis_forgot_it(self, worker):
        eventually(heartbeats.workers, within=60)
        redis_client().flushdb()

        assert eventually(heartbeats.workers, within=2 * heartbeats.BEAT_SECONDS)
