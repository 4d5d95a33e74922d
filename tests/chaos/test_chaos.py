"""The short version: the most telling cruelties, one after another on one stack, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.ground import ROOT

SEED = 11
CRUELTIES = ("stop-all", "kill-valkey", "claim-race", "end-sessions", "slow-past-lease", "kill-all")
PATIENCE_SECONDS = 300


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("chaos")
    argv = [sys.executable, "-m", "tests.chaos", "--only", ",".join(CRUELTIES), "--hurry", "--seed", str(SEED)]
    argv += ["--rate", "30", "--logs", str(folder), "--report", str(folder / "report.json")]
    run = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    print(run.stdout, run.stderr[-4000:])
    return json.loads((folder / "report.json").read_text())


def test_every_committed_event_is_delivered_or_a_dead_letter_and_nothing_else_is_amiss(report):
    assert report["result"]["lost"] == 0
    assert report["faults"] == []
    assert report["result"]["delivered"] + report["result"]["dead"] == report["result"]["deliveries"] > 500


def test_only_what_was_in_flight_at_a_kill_arrives_twice(report):
    result = report["result"]
    assert result["kills"] >= 5
    assert result["duplicates"] <= result["in_flight_at_kills"]


@pytest.mark.parametrize("name", CRUELTIES)
def test_deliveries_arrive_again_everywhere_within_a_minute_by_themselves(report, name):
    (ordeal,) = [ordeal for ordeal in report["ordeals"] if ordeal["name"] == name]
    assert ordeal["slowest"] is not None
    assert ordeal["slowest"] < 60


def test_the_status_is_unhealthy_while_the_broker_is_dead(report):
    (ordeal,) = [ordeal for ordeal in report["ordeals"] if ordeal["name"] == "kill-valkey"]
    assert any(note.startswith("unhealthy") for note in ordeal["notes"])
