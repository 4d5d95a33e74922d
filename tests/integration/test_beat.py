"""What beat makes of the schedule."""

import pytest
from celery import current_app
from django_celery_beat.schedulers import ModelEntry

from webhooks_project import broker

SCHEDULE = broker.SETTINGS["beat_schedule"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", SCHEDULE)
def test_every_sweep_goes_to_its_queue_and_expires_but_not_for_a_clock_that_is_minutes_off(name):
    entry = ModelEntry.from_entry(name, app=current_app, **SCHEDULE[name])

    assert entry.options["queue"] == "upkeep"
    assert 5 * 60 < entry.options["expires"] <= 15 * 60
