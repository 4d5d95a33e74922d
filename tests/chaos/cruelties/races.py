"""Several at the same work at once."""

import time
from typing import Final

from celery import current_app
from django.db import connection

from deliveries import dispatch
from deliveries.pacing.keys import keys
from deliveries.redis_client import redis_client
from tests.chaos.crew import BEAT, COMMANDS
from tests.chaos.stage import Stage

ROUNDS: Final = 15

_LAPSE: Final = """
UPDATE deliveries_delivery SET lease_expires_at = now() - interval '1 second'
WHERE status = 'sending' AND endpoint_id = %s
"""


def two_beats(stage: Stage) -> None:
    """A second beat runs beside the first for a while."""
    stage.crew.commands["beat2"] = COMMANDS[BEAT]
    stage.crew.start("beat2")
    time.sleep(stage.rng.uniform(8, 12))
    stage.crew.stop("beat2")


def sweep_and_wake_up_at_once(stage: Stage) -> None:
    """Wake-ups that nobody needs, sweeps, and drain leases taken away: several workers claim the same rows."""
    ids = [endpoint.pk for endpoint in stage.endpoints.values()]
    leases = [key for id in ids for key in keys(id, "lease")]
    stage.burst(300)
    for _ in range(ROUNDS):
        redis_client().delete(*leases)
        current_app.send_task(dispatch.DELIVER, args=[ids], queue=dispatch.HEALTHY_QUEUE)
        current_app.send_task("deliveries.sweep_due", queue="upkeep")
        current_app.send_task("deliveries.sweep_lapsed", queue="upkeep")
        time.sleep(stage.rng.uniform(0.05, 0.2))


def slower_than_the_lease(stage: Stage) -> None:
    """Leases lapse while their workers are only slow: the late results must not count, and what was sent may repeat."""
    sluggish = stage.endpoints["sluggish"]
    stage.burst(6, "report.ready")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        stage.note_flight()
        with connection.cursor() as cursor:
            cursor.execute(_LAPSE, [sluggish.pk])
            if cursor.rowcount:
                stage.say(f"{cursor.rowcount} leases ended")
                break
        time.sleep(0.1)
    # The request in flight may have gone out between the look and the end of its lease.
    stage.note_flight()
