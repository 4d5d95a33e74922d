"""The demo as a newcomer runs it, with real workers: it ends, says what it should, and leaves nothing running."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
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
def start(data_dir: Path) -> Callable[[], "subprocess.Popen[str]"]:
    """Starts a demo on services of its own."""
    inherited = {name: value for name, value in os.environ.items() if name not in CHOSEN_BY_THE_TESTS}

    def start() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", "demo"],
            cwd=ROOT,
            env={**inherited, "HOLDFAST_DATA_DIR": str(data_dir)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.fixture(scope="module")
def demo(start: Callable[[], "subprocess.Popen[str]"]) -> "subprocess.CompletedProcess[str]":
    process = start()
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


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
    assert _running_for(data_dir) == []


def test_ctrl_c_in_the_middle_ends_all_of_it(start: Callable[[], "subprocess.Popen[str]"], data_dir: Path) -> None:
    with start() as process:
        assert process.stdout is not None
        assert any(line.startswith("2  Publish") for line in process.stdout)
        assert len(_running_for(data_dir)) >= 5  # itself, two workers, beat, the receiver
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert _running_for(data_dir) == []


def _running_for(data_dir: Path) -> list[int]:
    """The processes whose environment names the data folder; the servers' own environment may not."""
    return [process.pid for process in psutil.process_iter() if _names(process, data_dir)]


def _names(process: psutil.Process, data_dir: Path) -> bool:
    try:
        return process.environ().get("HOLDFAST_DATA_DIR") == str(data_dir)
    except psutil.Error:
        return False
