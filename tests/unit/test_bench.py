"""The parts of the benches that need no database: size, ground, scoreboard, and processes that do not stay behind."""

import signal
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import psutil
import pytest

from bench import __main__ as command
from bench import ground
from bench.cpu import CpuSeconds
from bench.crew import REPOSITORY, Crew, CrewFailed
from bench.errors import PromiseBroken
from bench.ground import with_path
from bench.scoreboard import Reading, figures, table
from bench.size import Size, size_from

IDLE = CpuSeconds(0.0, 0.0, 0.0, 0.0, 0.0)
READY = "import os, pathlib; (pathlib.Path(os.environ['BENCH_READY_FOLDER']) / str(os.getpid())).touch()"


def child(code: str):
    return lambda _number: [sys.executable, "-c", code]


def reading(per_second: float, cpu: CpuSeconds = IDLE) -> Reading:
    return Reading(deliveries=1000, seconds=1000 / per_second, cpu=cpu)


def test_the_environment_sets_the_size_and_the_rest_keeps_its_default():
    assert size_from({"BENCH_DELIVERIES": "320", "BENCH_ROUNDS": ""}) == Size(deliveries=320)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5"])
def test_a_size_that_makes_no_sense_names_its_variable(text):
    with pytest.raises(ValueError, match="BENCH_ROUNDS"):
        size_from({"BENCH_ROUNDS": text})


def test_deliveries_must_divide_among_the_endpoints():
    with pytest.raises(ValueError, match="multiple"):
        size_from({"BENCH_DELIVERIES": "100", "BENCH_ENDPOINTS": "16"})


def test_the_figures_are_medians_and_ratios_of_medians():
    readings = {
        "bare": [reading(5000), reading(1000), reading(6000)],
        "naive": [reading(400)],
        "holdfast": [reading(4000), reading(4200)],
    }
    assert figures(readings) == {
        "bare_per_s": 5000.0,
        "naive_per_s": 400.0,
        "holdfast_per_s": 4100.0,
        "vs_naive": 10.25,
        "vs_bare": 0.82,
    }


def test_the_table_says_what_a_delivery_cost_each_party():
    cpu = CpuSeconds(workers=0.2, receiver=0.05, database=0.07, broker=0.0, elsewhere=0.01)
    line = table({"bare": [reading(5000, cpu)]}).splitlines()[1]
    assert line.split() == ["bare", "5,000", "5,000", "5,000", "200", "50", "70", "0", "10"]


@pytest.mark.parametrize(
    ("url", "moved"),
    [
        ("postgresql://holdfast@/holdfast?host=/run/pg", "postgresql://holdfast@/other?host=/run/pg"),
        ("redis://:word@127.0.0.1:6379/0", "redis://:word@127.0.0.1:6379/other"),
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379/other"),
    ],
)
def test_another_database_of_the_same_server_keeps_the_rest_of_the_url(url, moved):
    assert with_path(url, "other") == moved


def test_a_crew_ends_with_its_block_also_when_the_bench_fails():
    pids: list[int] = []

    def fail():
        with Crew(child(f"{READY}; input()"), 2) as crew:
            crew.wait_ready()
            pids.extend(crew.pids)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_a_worker_that_ends_early_is_reported_with_its_last_words():
    with pytest.raises(CrewFailed, match="out of coffee"), Crew(child("raise SystemExit('out of coffee')"), 1) as crew:
        crew.wait_ready()


def test_a_worker_ends_when_the_bench_is_gone():
    code = "from bench.leash import end_with_standard_input; end_with_standard_input()"
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY, stdin=subprocess.PIPE) as worker:
        worker.stdin.close()
        assert worker.wait(timeout=10) == -signal.SIGTERM


def test_a_bench_whose_promise_was_broken_says_how_often_and_fails(monkeypatch, capsys):
    def broken():
        raise PromiseBroken("Not every event had its effect exactly once.", {"missing": 1})

    monkeypatch.setattr(ground, "prepared", nullcontext)
    monkeypatch.setattr(command, "import_module", lambda name: SimpleNamespace(run=broken))
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)

    assert command.main(["loopback"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == '{"missing": 1}'


def test_all_benches_run_each_by_itself_and_one_that_fails_stops_none(monkeypatch, capfd):
    code = """
import sys
print("measuring", sys.argv[-1])
print('{"%s": 1}' % sys.argv[-1])
sys.exit(sys.argv[-1] == "second")
"""
    monkeypatch.setattr(command, "BENCHES", ("first", "second", "third"))
    monkeypatch.setattr(command, "COMMAND", [sys.executable, "-c", code])

    assert command.main([]) == 1
    printed = capfd.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("measuring")] == [
        f"measuring {name}" for name in ("first", "second", "third")
    ]
    assert printed[-1] == '{"first": 1, "second": 1, "third": 1}'
