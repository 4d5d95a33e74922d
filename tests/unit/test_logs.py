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


PROGRAM = """
import logging, logging.config
from webhooks_project.logs import logging_config
config = logging_config(format="json", level="INFO", attempts=False)

import gunicorn.glogging, gunicorn.config
made = gunicorn.config.Config()
made.set("logconfig_dict", config)
log = gunicorn.glogging.Logger(made)
log.info("Starting gunicorn")
log.access_log.info("a page was fetched")

from django.conf import settings
settings.configure(DEBUG=True, LOGGING=config)
import django
django.setup()
logging.getLogger("django.request").warning("once")
logging.getLogger("django.server").info("a page was served")

from celery import Celery, signals
from celery.utils.log import get_task_logger
from webhooks_project import celery
Celery("any").log.setup(loglevel="DEBUG")
get_task_logger("any.task").warning("a task says so")
logging.getLogger("celery.worker").info("a worker says so")
logging.getLogger("celery.worker.strategy").info("three lines for every task")
logging.getLogger("any").debug("LOG_LEVEL holds, not --loglevel")

import sys
from celery.apps import worker
worker.safe_say("worker: Warm shutdown (MainProcess)", sys.__stderr__)

from journal import Line
Line("attempt.made", "holdfast.attempts", "n").say({"n": 1})
Line("circuit.opened", "holdfast.circuits", "n").say({"n": 2})
"""


@pytest.fixture(scope="module")
def said():
    """What a process of its own writes to standard error, by logger: the log of this one is pytest's."""
    ran = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    return [(line["logger"], line.get("message") or line["event"]) for line in lines]


def test_gunicorn_speaks_json_from_its_first_line(said):
    assert said[:2] == [("gunicorn.error", "Starting gunicorn"), ("gunicorn.access", "a page was fetched")]


def test_django_says_each_thing_once_and_in_the_same_form(said):
    assert [line for line in said if line[0].startswith("django")] == [
        ("django.request", "once"),
        ("django.server", "a page was served"),
    ]


def test_the_lines_of_celery_and_of_its_tasks_are_json_and_at_the_level_that_was_set(said):
    assert [line for line in said if line[0].startswith(("celery", "any"))] == [
        ("any.task", "a task says so"),
        ("celery.worker", "a worker says so"),
        ("celery.apps.worker", "worker: Warm shutdown (MainProcess)"),
    ]


def test_attempts_can_be_left_out_and_nothing_else_with_them(said):
    assert [line for line in said if line[0].startswith("holdfast")] == [("holdfast.circuits", "circuit.opened")]
