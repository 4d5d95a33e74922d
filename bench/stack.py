"""The stack as production runs it: worker processes and beat, which sweeps."""

from bench.beat_leash import leashed_beat
from bench.crew import Crew
from bench.legs.celery_leash import leashed_worker
from webhooks_project.roles import HEALTHY_QUEUES, SLOW_QUEUES


def equal_workers(count: int) -> Crew:
    """So many workers that all take every queue, and beat."""
    commands = [leashed_worker(f"bench-{number}", HEALTHY_QUEUES + SLOW_QUEUES) for number in range(1, count + 1)]
    return _crew([*commands, leashed_beat()])


def healthy_and_slow() -> Crew:
    """The two workers of `manage.py stack`, one of them for slow endpoints alone, and beat."""
    healthy, slow = leashed_worker("bench-healthy", HEALTHY_QUEUES), leashed_worker("bench-slow", SLOW_QUEUES)
    return _crew([healthy, slow, leashed_beat()])


def _crew(commands: list[list[str]]) -> Crew:
    return Crew(lambda number: commands[number - 1], len(commands))
