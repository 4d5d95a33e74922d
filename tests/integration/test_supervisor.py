"""The stack's supervisor with small children of its own: what dies comes back, what should end ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from webhooks_project.children import Child
from webhooks_project.embedded import processes
from webhooks_project.leftovers import ChildRecord, StackRunning

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60
WAITING = "import time; print('up', flush=True); time.sleep(600)"
POLITE = (
    "import signal, sys, time\n"
    "def end(*_): print('finished', flush=True); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, end); print('up', flush=True); time.sleep(600)"
)
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
SUPERVISE = """
import json, os, sys
from pathlib import Path
from webhooks_project.children import Child
from webhooks_project.leftovers import ChildRecord
from webhooks_project.supervisor import Supervisor
record = ChildRecord(Path(sys.argv[1]))
print("leftovers", record.end_leftovers(), flush=True)
children = [Child(name, [sys.executable, "-c", script], serves) for name, script, serves in json.loads(sys.argv[2])]
Supervisor(children, record, Path.cwd(), os.environ, stop_seconds=float(sys.argv[3])).run()
"""


class Stack:
    """A supervisor in a process of its own, read line by line."""

    def __init__(self, data_dir: Path, children: list[tuple[str, str, bool]], stop_seconds: float) -> None:
        arguments = [str(data_dir), json.dumps(children), str(stop_seconds)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISE, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        self.lines: list[str] = []

    def await_line(self, *words: str) -> str:
        """Read on until a line has all `words`."""
        for line in self.output:
            self.lines.append(line)
            if all(word in line for word in words):
                return line
        raise AssertionError(f"no line with {words} in {self.lines}")

    def end(self, number: signal.Signals) -> int:
        """Send a signal, read the rest, and return the exit status."""
        self.process.send_signal(number)
        self.lines += self.output
        return self.process.wait(PATIENCE_SECONDS)


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Stack]]:
    stacks: list[Stack] = []

    def start(*children: tuple[str, str, bool], stop_seconds: float = PATIENCE_SECONDS) -> Stack:
        stacks.append(Stack(tmp_path, list(children), stop_seconds))
        return stacks[-1]

    yield start
    for stack in stacks:
        stack.process.kill()
        stack.process.wait(PATIENCE_SECONDS)
        stack.output.close()
    ChildRecord(tmp_path).end_leftovers()


def recorded(data_dir: Path) -> list[psutil.Process]:
    return [psutil.Process(pid) for pid, _ in json.loads((data_dir / "stack.json").read_text())]


def test_a_child_that_dies_is_started_again_and_the_log_says_so(supervise):
    stack = supervise(("frail", "import sys; print('up', flush=True); sys.exit(3)", False))
    stack.await_line("frail", "up")
    stack.await_line("stack", "frail ended with status 3; starting it again in 1 s")
    stack.await_line("frail", "up")
    stack.await_line("stack", "starting it again in 2 s")
    assert stack.end(signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_child_may_finish_and_what_serves_the_others_ends_last(supervise, number):
    stack = supervise(("receiver", POLITE, True), ("worker", POLITE, False))
    stack.await_line("up")
    stack.await_line("up")
    assert stack.end(number) == 0
    finished = [line.split()[0] for line in stack.lines if "finished" in line]
    assert finished == ["worker", "receiver"]


def test_a_child_that_will_not_end_is_killed_when_its_time_is_up(supervise, tmp_path):
    stack = supervise(("stubborn", STUBBORN, False), stop_seconds=0.3)
    stack.await_line("up")
    children = recorded(tmp_path)
    assert stack.end(signal.SIGTERM) == 0
    assert any("stubborn did not end in time and is killed" in line for line in stack.lines)
    assert not any(processes.is_alive(child) for child in children)


def test_the_children_of_a_killed_stack_are_ended_by_the_next_one(supervise, tmp_path):
    stack = supervise(("one", WAITING, False), ("two", WAITING, False))
    stack.await_line("up")
    stack.await_line("up")
    orphans = recorded(tmp_path)
    stack.process.kill()
    stack.process.wait(PATIENCE_SECONDS)
    assert all(processes.is_alive(orphan) for orphan in orphans)
    supervise(("one", WAITING, False)).await_line("leftovers 2")
    assert not any(processes.is_alive(orphan) for orphan in orphans)


def test_a_second_stack_leaves_the_first_ones_children_alone(supervise, tmp_path):
    stack = supervise(("one", WAITING, False))
    stack.await_line("up")
    with pytest.raises(StackRunning, match="Another stack"):
        ChildRecord(tmp_path)
    assert all(processes.is_alive(child) for child in recorded(tmp_path))


def test_a_stranger_with_a_recorded_process_id_is_left_alone(tmp_path):
    started_long_before = psutil.Process().create_time() - 1000
    (tmp_path / "stack.json").write_text(json.dumps([[os.getpid(), started_long_before]]))
    assert ChildRecord(tmp_path).end_leftovers() == 0


def test_pauses_double_up_to_half_a_minute_and_a_steady_child_starts_over():
    child = Child("any", [], started_at=100.0)
    assert [child.note_death(now=101.0) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert child.due_at == 131.0
    assert child.note_death(now=130.0) == 1
