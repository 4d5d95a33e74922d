"""The configuration of the log, and what it makes of Celery's, Django's and gunicorn's own lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from webhooks_project.logs import logging_config

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("format", "level"), [("xml", "INFO"), ("json", "LOUD"), ("", "INFO")])
def test_a_format_or_a_level_that_does_not_exist_is_refused(format, level):
    with pytest.raises(ValueError, match=r"LOG_(FORMAT|LEVEL) is"):
        logging_config(format=format, level=level, attempts=True)


def lines_of(program: str, format: str = "json", attempts: bool = True) -> list[str]:
    """What a process of its own writes to standard error: the log of this one is pytest's."""
    start = f"""
import logging, logging.config
from webhooks_project.logs import logging_config
config = logging_config(format={format!r}, level="INFO", attempts={attempts})
logging.config.dictConfig(config)
{program}
"""
    ran = subprocess.run([sys.executable, "-c", start], cwd=ROOT, capture_output=True, text=True, check=True)
    return ran.stderr.splitlines()


CELERY = """
from celery import Celery, signals
signals.setup_logging.connect(lambda **_: logging.config.dictConfig(config), weak=False)
app = Celery("any")
app.log.setup(loglevel="DEBUG")
from celery.utils.log import get_task_logger
get_task_logger("any.task").warning("a task says so")
logging.getLogger("celery.worker").info("a worker says so")
logging.getLogger("celery.worker.strategy").info("three lines for every task")
logging.getLogger("any").debug("LOG_LEVEL holds, not --loglevel")
"""


def test_the_lines_of_celery_and_of_its_tasks_are_json_like_all_others():
    said = [json.loads(line) for line in lines_of(CELERY)]

    assert [(each["logger"], each["message"]) for each in said] == [
        ("any.task", "a task says so"),
        ("celery.worker", "a worker says so"),
    ]


DJANGO = """
from django.conf import settings
settings.configure(DEBUG=True, LOGGING=config)
import django
django.setup()
logging.getLogger("django.request").warning("once")
logging.getLogger("django.server").info("a page was served")
"""


def test_django_says_each_thing_once_and_in_the_same_form():
    assert [json.loads(line)["message"] for line in lines_of(DJANGO)] == ["once", "a page was served"]


ATTEMPT = """
from journal import Line
Line("attempt.made", "holdfast.attempts", "n").say({"n": 1})
Line("circuit.opened", "holdfast.circuits", "n").say({"n": 2})
"""


def test_attempts_can_be_left_out_and_nothing_else_with_them():
    assert [json.loads(line)["event"] for line in lines_of(ATTEMPT)] == ["attempt.made", "circuit.opened"]
    assert [json.loads(line)["event"] for line in lines_of(ATTEMPT, attempts=False)] == ["circuit.opened"]


def test_text_carries_the_same_facts():
    (_, line) = lines_of(ATTEMPT, format="text")

    assert line.endswith("INFO holdfast.circuits circuit.opened n=2")


def test_gunicorn_speaks_json_from_its_first_line():
    from_gunicorn = """
import gunicorn.glogging, gunicorn.config
made = gunicorn.config.Config()
made.set("logconfig_dict", config)
log = gunicorn.glogging.Logger(made)
log.info("Starting gunicorn")
log.access_log.info('"GET /health/" 200')
"""
    said = [json.loads(line) for line in lines_of(from_gunicorn)]

    assert [(each["logger"], each["message"]) for each in said] == [
        ("gunicorn.error", "Starting gunicorn"),
        ("gunicorn.access", '"GET /health/" 200'),
    ]
