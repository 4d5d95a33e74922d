"""Runs the scripts: any number of calls in one round trip, which holds also for a server that forgot them."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.exceptions import NoScriptError

from deliveries.redis_client import redis_client

Call = tuple[list[str], list[str | int | float]]
"""Keys and arguments."""


def run(name: str, calls: Sequence[Call]) -> list[Any]:
    """Run `name`.lua once for each call and return its answers. Raises RedisError.

    redis-py's own scripts ask the server first whether it knows them, which doubles the round trips of every drain.
    """
    if not calls:
        return []
    sha, text = _script(name)
    answers = _evaluate(sha, calls)
    forgotten = [number for number, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
    if forgotten:
        # Another process may have loaded it halfway through: only what did not run is run again.
        redis_client().script_load(text)
        for number, answer in zip(forgotten, _evaluate(sha, [calls[number] for number in forgotten]), strict=True):
            answers[number] = answer
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return answers


def _evaluate(sha: str, calls: Sequence[Call]) -> list[Any]:
    pipeline = redis_client().pipeline(transaction=False)
    for keys, args in calls:
        pipeline.evalsha(sha, len(keys), *keys, *args)
    return pipeline.execute(raise_on_error=False)


@lru_cache(maxsize=8)
def _script(name: str) -> tuple[str, str]:
    text = files(__package__).joinpath(f"{name}.lua").read_text()
    # How Redis names a script, no matter of security.
    return sha1(text.encode(), usedforsecurity=False).hexdigest(), text
