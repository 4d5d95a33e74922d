"""When each sweep of the inbox last ran, for monitors."""

import pytest

from inbox import signs
from inbox.redis_client import redis_client
from inbox.sweeps import due, lapsed, old, tallies, unannounced
from tests.broker import CLOSED_PORT

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("empty_redis")]


def test_every_sweep_says_when_it_ran():
    assert signs.ages() == {}

    for sweep in (due, lapsed, old, tallies, unannounced):
        sweep.sweep()

    assert set(signs.ages()) == {"due", "lapsed", "old", "tallies", "unannounced"}
    assert all(0 <= age < 60 for age in signs.ages().values())


def test_a_sweep_that_nobody_hears_of_ran_all_the_same(settings):
    settings.REDIS_URL = CLOSED_PORT
    redis_client.cache_clear()

    due.sweep()

    redis_client.cache_clear()
