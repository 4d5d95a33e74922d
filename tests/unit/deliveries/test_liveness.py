"""The verdict on the pipeline: each problem has its sentence, and its opposite has none."""

from dataclasses import replace
from typing import Any

import pytest

from deliveries.watch.liveness import (
    LAPSED_SECONDS,
    NEEDED_QUEUES,
    OVERDUE_SECONDS,
    STUCK_SECONDS,
    SWEEP_SILENT_SECONDS,
    Picture,
    problems,
)

WELL = Picture(sweep_seconds=2.0, worked_queues=frozenset(NEEDED_QUEUES))
LITTLE = 0.1


def test_a_pipeline_at_rest_has_no_problem():
    assert problems(WELL) == []


def test_a_pipeline_at_work_has_no_problem():
    busy = replace(
        WELL,
        oldest_due_seconds=3.0,
        unattended_seconds=2.0,
        recorded_seconds=0.1,
        oldest_lapsed_seconds=4.0,
        busy_seconds=19.0,
    )
    assert problems(busy) == []


# (what is known, a word of the sentence, the same a little less)
WRONG = [
    ({"database": False}, "database", {}),
    ({"redis": False}, "Redis", {}),
    ({"broker": False}, "broker", {}),
    (
        {"unattended_seconds": OVERDUE_SECONDS + LITTLE, "recorded_seconds": 1.0},
        "nothing attends to it",
        {"unattended_seconds": OVERDUE_SECONDS},
    ),
    (
        {"oldest_due_seconds": OVERDUE_SECONDS + LITTLE, "recorded_seconds": OVERDUE_SECONDS + LITTLE},
        "not moving",
        {"recorded_seconds": OVERDUE_SECONDS},
    ),
    (
        {"oldest_due_seconds": OVERDUE_SECONDS + LITTLE, "recorded_seconds": None},
        "not moving",
        {"oldest_due_seconds": OVERDUE_SECONDS},
    ),
    (
        {"oldest_lapsed_seconds": LAPSED_SECONDS + LITTLE},
        "lease lapsed",
        {"oldest_lapsed_seconds": LAPSED_SECONDS},
    ),
    ({"sweep_seconds": None}, "never run", {"sweep_seconds": 0.0}),
    ({"sweep_seconds": SWEEP_SILENT_SECONDS + LITTLE}, "beat", {"sweep_seconds": SWEEP_SILENT_SECONDS}),
    ({"busy_seconds": STUCK_SECONDS + LITTLE}, "stuck", {"busy_seconds": STUCK_SECONDS}),
]


@pytest.mark.parametrize(("known", "word", "less"), WRONG)
def test_each_problem_is_said_in_one_sentence_and_its_opposite_is_none(known, word, less):
    found = problems(replace(WELL, **known))

    assert len(found) == 1
    assert word in found[0]
    assert found[0].endswith((".", "?"))
    better = known | less if less else dict.fromkeys(known, True)
    assert problems(replace(WELL, **better)) == []


@pytest.mark.parametrize("queue", NEEDED_QUEUES)
def test_a_queue_that_nobody_works_is_named(queue):
    found = problems(replace(WELL, worked_queues=frozenset(NEEDED_QUEUES) - {queue}))

    assert found == [f"No worker was seen for {queue}."]


def test_a_backlog_that_a_limit_lets_out_slowly_is_no_problem():
    slow = replace(WELL, oldest_due_seconds=7200.0, unattended_seconds=None, recorded_seconds=1.0)
    assert problems(slow) == []


@pytest.mark.parametrize("away", [{"database": False}, {"redis": False}])
def test_what_cannot_be_known_while_a_service_is_away_is_not_judged(away: dict[str, Any]):
    alarming = replace(WELL, oldest_due_seconds=500.0, unattended_seconds=500.0, recorded_seconds=None)

    assert len(problems(replace(alarming, **away))) == 1


def test_without_redis_no_worker_and_no_sweep_is_missed():
    assert len(problems(Picture(redis=False))) == 1


def test_all_that_is_wrong_is_said_at_once():
    everything = Picture(
        broker=False, oldest_due_seconds=90.0, unattended_seconds=90.0, oldest_lapsed_seconds=90.0, busy_seconds=999.0
    )
    assert len(problems(everything)) == 7
