"""The words a path may begin with, and what each does with a request (pure).

``/ok/17`` and ``ok/17`` both read as the word ``ok`` with the free suffix ``17``, which only makes endpoints distinct.
A behaviour remembers nothing but how often it saw each webhook-id, or how many requests it saw at all.
"""

from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from urllib.parse import unquote

from demo.receiver.answers import Manner, Plan, answer, response

Behaviour = Callable[[str], Plan]
"""Takes the webhook-id of a request (empty when it has none), gives the plan."""

BIG_BODY_BYTES = 5 * 1024 * 1024
GARBLED_BODY = b"\xff\x00\xc3\x28 not UTF-8, with a NUL"


class UnknownBehaviour(ValueError):
    """The text names no behaviour, or its numbers make no sense."""


class Attempts:
    """How often each webhook-id was seen."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def next(self, webhook_id: str) -> int:
        """The number of this attempt, from 1."""
        number = self._seen[webhook_id] = self._seen.get(webhook_id, 0) + 1
        return number


OK = answer(200, b"ok")


def _always(plan: Plan) -> Behaviour:
    return lambda webhook_id: plan


def _status(code: str) -> Behaviour:
    if not 200 <= int(code) <= 599:
        raise ValueError("a final status is between 200 and 599")
    return _always(answer(int(code)))


def _slow(seconds: str) -> Behaviour:
    return _always(replace(OK, label=f"200 after {seconds} s", manner=Manner.LATER, seconds=_positive(seconds)))


def _drip(seconds: str) -> Behaviour:
    return _always(
        replace(OK, label=f"200 dripped, {seconds} s a byte", manner=Manner.DRIP, seconds=_positive(seconds))
    )


def _dribble(seconds: str) -> Behaviour:
    head_length = OK.data.index(b"\r\n\r\n") + 4
    plan = replace(OK, label=f"200, body {seconds} s a byte", manner=Manner.DRIP, seconds=_positive(seconds))
    return _always(replace(plan, at_once=head_length))


def _redirect(code: str) -> Behaviour:
    if not 300 <= int(code) <= 399:
        raise ValueError("a redirect is between 300 and 399")
    return _always(answer(int(code), headers={"Location": "/ok"}))


def _flaky(failures: str) -> Behaviour:
    attempts, limit, failing = Attempts(), int(failures), answer(500)
    return lambda webhook_id: failing if attempts.next(webhook_id) <= limit else OK


def _throttle(retry_after: str, failures: str) -> Behaviour:
    attempts, limit = Attempts(), int(failures)
    throttled = answer(429, headers={"Retry-After": unquote(retry_after)})
    return lambda webhook_id: throttled if attempts.next(webhook_id) <= limit else OK


def _stumble(failures: str) -> Behaviour:
    """500 to the first requests, whichever events they bring; then well for good."""
    return _at_first(int(failures), answer(500))


def _brake(retry_after: str, refusals: str) -> Behaviour:
    """429 to the first requests, whichever events they bring; then well for good."""
    return _at_first(int(refusals), answer(429, headers={"Retry-After": unquote(retry_after)}))


def _at_first(count: int, plan: Plan) -> Behaviour:
    numbers = iter(range(count))
    return lambda webhook_id: OK if next(numbers, None) is None else plan


def _random(percent: str, seed: str) -> Behaviour:
    """Fails by (seed, webhook-id, attempt), not by order of arrival: two runs with the same ids fail alike."""
    attempts, limit, failing = Attempts(), float(percent) * 100, answer(500)
    if not 0 <= limit <= 10_000:
        raise ValueError("a percentage is between 0 and 100")

    def decide(webhook_id: str) -> Plan:
        key = f"{seed}/{webhook_id}/{attempts.next(webhook_id)}"
        draw = int.from_bytes(blake2b(key.encode(), digest_size=4).digest()) % 10_000
        return failing if draw < limit else OK

    return decide


def _positive(seconds: str) -> float:
    if not 0 <= float(seconds) <= 86_400:
        raise ValueError("a number of seconds is between 0 and 86400")
    return float(seconds)


def _short() -> Behaviour:
    data = response(200, b"cut short").removesuffix(b"short")
    return _always(Plan(label="200, body cut short", status=200, data=data, closes=True))


# word -> (how many segments it takes, what makes the behaviour of them)
WORDS: dict[str, tuple[int, Callable[..., Behaviour]]] = {
    "ok": (0, lambda: _always(OK)),
    "nobody204": (0, lambda: _always(answer(204))),
    "big": (0, lambda: _always(answer(200, b"x" * BIG_BODY_BYTES))),
    "garbled": (0, lambda: _always(answer(200, GARBLED_BODY))),
    "nonsense": (0, lambda: _always(Plan(label="not HTTP", data=b"\x16\x03 this is not HTTP\r\n\r\n", closes=True))),
    "short": (0, _short),
    "hang": (0, lambda: _always(Plan(label="hang", manner=Manner.HANG))),
    "reset": (0, lambda: _always(Plan(label="reset", manner=Manner.RESET))),
    "hangup": (0, lambda: _always(Plan(label="hangup", manner=Manner.HANG_UP))),
    "status": (1, _status),
    "slow": (1, _slow),
    "drip": (1, _drip),
    "dribble": (1, _dribble),
    "redirect": (1, _redirect),
    "flaky": (1, _flaky),
    "random": (2, _random),
    "throttle": (2, _throttle),
    "stumble": (1, _stumble),
    "brake": (2, _brake),
}


def behaviour_from(text: str) -> Behaviour:
    """The behaviour a path or a control text names; raises UnknownBehaviour with a sentence."""
    word, *rest = text.strip("/").split("/")
    if word not in WORDS:
        raise UnknownBehaviour(f"no behaviour is called {word!r}; there are: {', '.join(sorted(WORDS))}")
    arity, make = WORDS[word]
    if len(rest) < arity:
        raise UnknownBehaviour(f"{word!r} needs {arity} more path segment(s)")
    try:
        return make(*rest[:arity])
    except ValueError as error:
        raise UnknownBehaviour(f"{text!r}: {error}") from None
