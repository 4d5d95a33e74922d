"""The demo as a newcomer runs it, with real workers: it ends, says what it should, and leaves nothing running."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from webhooks_project import embedded

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 240
KEYS = ["events", "deliveries", "delivered", "dead", "redriven", "lost", "bad_signatures", "seconds"]
CHOSEN_BY_THE_TESTS = ("DATABASE_URL", "REDIS_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE", "HOLDFAST_EMBEDDED")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("demo")
    yield folder
    assert embedded.remove(folder)


@pytest.fixture(scope="module")
def demo(data_dir: Path) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name not in CHOSEN_BY_THE_TESTS}
    return subprocess.run(
        [sys.executable, "manage.py", "demo"],
        cwd=ROOT,
        env={**environment, "HOLDFAST_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def result(demo: "subprocess.CompletedProcess[str]") -> dict[str, float]:
    assert demo.returncode == 0, demo.stdout + demo.stderr
    found: dict[str, float] = json.loads(demo.stdout.splitlines()[-1])
    return found


def test_the_last_line_is_one_json_object_with_the_agreed_keys(result: dict[str, float]) -> None:
    assert list(result) == KEYS


def test_every_endpoint_gets_every_event_and_none_is_lost(result: dict[str, float]) -> None:
    assert (result["events"], result["deliveries"]) == (200, 1400)
    assert result["delivered"] + result["dead"] == result["deliveries"]
    assert (result["lost"], result["bad_signatures"]) == (0, 0)


def test_the_mended_receiver_gets_what_it_had_refused(result: dict[str, float]) -> None:
    assert result["redriven"] == 200
    assert result["dead"] == 600  # those of slow, broken and gone


def test_the_table_says_what_became_of_each_endpoint(demo: "subprocess.CompletedProcess[str]") -> None:
    for endpoint in ("healthy", "slow", "flaky", "broken", "picky", "gone", "throttled"):
        assert any(line.split()[:1] == [endpoint] for line in demo.stdout.splitlines())
    assert not demo.stderr


def test_nothing_of_it_is_running_afterwards(demo: "subprocess.CompletedProcess[str]", data_dir: Path) -> None:
    marker = f"HOLDFAST_DATA_DIR={data_dir}"
    assert [process.pid for process in psutil.process_iter() if marker in _environment_of(process)] == []


def _environment_of(process: psutil.Process) -> set[str]:
    try:
        return {f"{name}={value}" for name, value in process.environ().items()}
    except psutil.Error:
        return set()
