"""What Redis remembers ends by itself, and what it forgets costs one burst and never a stop."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from deliveries.pacing import Tally, gate, rules
from deliveries.redis_client import redis_client
from tests.integration.pacing.asking import OTHER_WORKER, WORKER, Asked
from webhooks_project.embedded import valkey

quickly = settings(deadline=None, max_examples=40)

MOVES: dict[str, Callable[[Asked], object]] = {
    "take": lambda asked: asked.take(5),
    "knock": lambda asked: asked.take(5, token=OTHER_WORKER),
    "leave": lambda asked: asked.leave(),
    "succeed": lambda asked: asked.report(Tally(good=1)),
    "fail": lambda asked: asked.fail(3),
    "hold": lambda asked: asked.report(Tally(good=1, hold_seconds=3)),
    "resume": lambda asked: asked.resume(),
    "enable": lambda asked: asked.resume(afresh=True),
    "forget": lambda asked: redis_client().delete(*asked.lifetimes_ms() or ["nothing"]),
    "wait": lambda asked: asked.pass_ms(11_000),
    "give back": lambda asked: asked.give_back(1, asked.take(3)),
    "give back the probe": lambda asked: asked.give_back_probe(),
}


@quickly
@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=20), st.sampled_from([None, 2.0, 300.0]))
def test_every_key_expires_whatever_happened(moves, limit):
    asked = Asked(limit=limit)
    for what in moves:
        MOVES[what](asked)

        lifetimes = asked.lifetimes_ms()
        assert all(0 < left <= rules.KEEP_SECONDS * 1000 for left in lifetimes.values()), (what, lifetimes)


def test_a_slow_rate_is_remembered_as_long_as_it_matters():
    asked = Asked(limit=1 / 3600)
    asked.take(1)

    assert min(asked.lifetimes_ms().values()) > 0
    assert max(asked.lifetimes_ms().values()) >= 3_600_000


@quickly
@given(st.floats(1, 1000), st.integers(1, 60), st.integers(0, 59))
def test_a_server_that_forgot_everything_costs_one_burst_and_no_stop(rate, questions, forgets_after):
    asked = Asked(limit=rate)
    began, granted = asked.now_ms, 0
    for number in range(questions):
        granted += asked.take(10_000).granted
        if number == forgets_after:
            redis_client().delete(*asked.lifetimes_ms())
        asked.pass_ms(50)

    seconds = (asked.now_ms - began - 50) / 1000
    assert granted <= rate * seconds + 2 * rules.burst_size(rate) + 0.01
    assert granted >= 0.95 * rate * seconds - 1


def test_an_open_circuit_that_was_forgotten_is_closed():
    asked = Asked()
    asked.fail(rules.OPEN_STREAK)
    redis_client().delete(*asked.lifetimes_ms())

    assert asked.take(7).granted == 7


def test_a_server_that_forgot_the_scripts_gets_them_again():
    asked = Asked(limit=10)
    for question in (asked.resume, lambda: asked.fail(1), asked.give_back_probe, asked.leave):
        redis_client().script_flush()
        question()
    redis_client().script_flush()

    assert asked.take().granted == 1


@pytest.fixture
def own_server(tmp_path: Path):
    """A server that this test may stop."""
    url = valkey.ensure(tmp_path)
    with override_settings(REDIS_URL=url):
        _forget_clients()
        yield tmp_path
        redis_client().close()
    _forget_clients()
    valkey.stop(tmp_path)


def _forget_clients() -> None:
    redis_client.cache_clear()


def test_a_restarted_server_is_asked_again_on_a_new_connection(own_server):
    asked = Asked(limit=10)
    assert asked.take(100).granted == rules.burst_size(10)
    assert asked.take(100).granted == 0

    valkey.stop(own_server)
    valkey.ensure(own_server)

    assert asked.take(100).granted == rules.burst_size(10)
    assert gate.leave(WORKER, [asked.id]) == set()
    assert gate.report({asked.id: Tally(good=1)}, rng=random.Random(0)) == {asked.id: "closed"}
