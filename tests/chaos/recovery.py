"""How long until deliveries arrive again, and whether `pipeline_status` tells the truth meanwhile."""

import json
import subprocess
import sys
import time
from collections.abc import Collection
from typing import Any, Final

from django.db import connection
from django.test import RequestFactory

from deliveries.views import health
from tests.chaos.ground import ROOT
from tests.chaos.stage import Stage

WITHIN_SECONDS: Final = 60.0
"""What is promised: whatever was done, deliveries arrive again by then, without a hand."""

LOOK_SECONDS: Final = 0.1
STATUS_SECONDS: Final = 60.0
HEALTH_PATH: Final = "/health/"


def await_deliveries(stage: Stage, names: Collection[str], since: float) -> dict[str, float]:
    """Wait until each of these endpoints has accepted a request that came after `since` (monotonic).

    Returns the seconds each took; one that took longer than WITHIN_SECONDS is a fault of the run.
    """
    wanted = {stage.endpoints[name].pk: name for name in names}
    while True:
        stage.witness.read()
        accepted = stage.witness.first_accepted_after(since)
        took = {name: accepted[id] for id, name in wanted.items() if id in accepted}
        if len(took) == len(wanted):
            break
        if time.monotonic() - since > WITHIN_SECONDS:
            silent = ", ".join(sorted(set(names) - set(took)))
            stage.faults.append(f"nothing arrived at {silent} within {WITHIN_SECONDS:.0f} s")
            break
        time.sleep(LOOK_SECONDS)
    return took


def await_any_delivery(stage: Stage, since: float) -> float | None:
    """Wait for the first request anywhere that came after `since` and was accepted; returns the seconds it took."""
    while time.monotonic() - since <= WITHIN_SECONDS:
        stage.witness.read()
        if accepted := stage.witness.first_accepted_after(since):
            return min(accepted.values())
        time.sleep(LOOK_SECONDS)
    stage.faults.append(f"nothing arrived anywhere within {WITHIN_SECONDS:.0f} s")
    return None


def expect_status(stage: Stage, *, healthy: bool, within: float = WITHIN_SECONDS) -> None:
    """Ask `manage.py pipeline_status` and the health URL until both say so; that they do not is a fault of the run."""
    began = time.monotonic()
    word = "healthy" if healthy else "unhealthy"
    while True:
        status, found = pipeline_status()
        answered = health_url()
        took = time.monotonic() - began
        if found["healthy"] is healthy and (status, answered) == ((0, 200) if healthy else (1, 503)):
            reason = "" if healthy else f": {found['problems'][0]}"
            stage.say(f"{word} after {took:.0f} s{reason}")
            return
        if took > within:
            told = f"the command ends with {status}, the URL answers {answered}"
            stage.faults.append(f"the status is not {word} after {took:.0f} s ({told}): {found['problems']}")
            return


def health_url() -> int:
    """The status that `/health/` answers."""
    answer = health(RequestFactory().get(HEALTH_PATH))
    # What the survey met may have broken this thread's connection.
    connection.close()
    return answer.status_code


def pipeline_status() -> tuple[int, dict[str, Any]]:
    """Exit status and figures of `manage.py pipeline_status --json`."""
    argv = [sys.executable, "manage.py", "pipeline_status", "--json"]
    asked = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=STATUS_SECONDS, check=False)
    try:
        return asked.returncode, json.loads(asked.stdout)
    except ValueError:
        return asked.returncode, {"healthy": None, "problems": [f"no JSON, but: {asked.stderr[-800:]}"]}
