"""A transport that sends nothing, for tests: answers from a script, and remembers what it was asked to send."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from deliveries.outcomes import Exchange, Failure
from deliveries.transport.faults import Fault
from deliveries.transport.request import DEFAULT_USER_AGENT, Request, headers_to_send, target_of

ScriptedAnswer = int | Failure | Exchange | Callable[[Request], Exchange]
"""A status code, a failure, a whole exchange, or a function that makes one."""


class MemoryTransport:
    """Answers from a script. Safe to use from many threads.

        transport = MemoryTransport()                       # everything is answered 200
        transport.script("https://a.example/hook", 503, Failure.TIMEOUT, 200)

    Each URL goes through its answers in order and stays with the last. Requests that HttpTransport would refuse are
    refused in the same way. Name lookup and the address guard are not played through: script `Failure.BLOCKED`.
    """

    def __init__(self, otherwise: ScriptedAnswer = 200) -> None:
        self.requests: list[Request] = []
        """Everything sent so far, oldest first."""
        self._otherwise = otherwise
        self._scripts: dict[str, deque[ScriptedAnswer]] = {}
        self._lock = threading.Lock()

    def script(self, url: str, *answers: ScriptedAnswer) -> None:
        """Give the answers to come for a URL, replacing those left."""
        with self._lock:
            self._scripts[url] = deque(answers or (self._otherwise,))

    def requests_to(self, url: str) -> list[Request]:
        """What was sent to one URL, oldest first."""
        return [request for request in self.requests if request.url == url]

    def send(self, request: Request) -> Exchange:
        """Answer from the script. Raises only what a scripted function raises."""
        try:
            target = target_of(request.url)
            headers_to_send(request, target, DEFAULT_USER_AGENT)
        except Fault as fault:
            return Exchange(failure=fault.failure, error=fault.sentence)
        with self._lock:
            answer = self._next_answer(request.url)
            if answer is not Failure.BLOCKED:
                self.requests.append(request)
        exchange = _play(answer, request)
        exchange.host = exchange.host or target.host
        return exchange

    def close(self) -> None:
        """Nothing to close."""

    def _next_answer(self, url: str) -> ScriptedAnswer:
        script = self._scripts.get(url)
        if script is None:
            return self._otherwise
        return script.popleft() if len(script) > 1 else script[0]


def _play(answer: ScriptedAnswer, request: Request) -> Exchange:
    if isinstance(answer, Failure):
        return Exchange(failure=answer, error=f"scripted: {answer}")
    if isinstance(answer, int):
        return Exchange(status_code=answer)
    if isinstance(answer, Exchange):
        return replace(answer)
    return answer(request)
