"""Receivers that do odd things to requests."""

import time

from tests.chaos.stage import Stage


def reset_after_the_body(stage: Stage) -> None:
    """A receiver takes each request whole, and resets the connection instead of answering."""
    stage.receiver.behave("target", "reset")
    stage.burst(20)
    try:
        time.sleep(stage.rng.uniform(2, 5))
    finally:
        stage.receiver.behave("target", "ok")
