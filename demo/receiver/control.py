"""The control API: paths that begin with ``/_``, JSON out.

PUT    /_behaviour/<name>   body: a behaviour, e.g. status/422; /named/<name> follows it from now on
PUT    /_secret/<name>      body: signing secrets in force, separated by white space
GET    /_requests           ?path= ?prefix= ?after=<n> ?limit=<n> ?bodies=0 ?count=1
GET    /_stats              counts in all, per path, and per status
GET    /_wait               ?requests=<n> or ?distinct=<n> or ?accepted=<n>, ?path= ?timeout=<s>: answers when reached
GET    /_verify             checks all signatures now
GET    /_ready
DELETE /_requests           forgets what was received (not the log, the names and the secrets)
"""

import json
from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qsl, unquote

from demo.receiver.answers import response
from demo.receiver.desk import COUNTED, Desk, Waiter
from demo.receiver.parsing import Request
from demo.receiver.records import Record

Reply = Callable[[bytes], None]
DEFAULT_WAIT_SECONDS = 10.0


class BadCall(ValueError):
    """The control call makes no sense; the message says why."""


def _json(status: int, value: object) -> bytes:
    return response(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


class Control:
    """Answers control calls for one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def answer(self, request: Request, reply: Reply) -> None:
        """Answer now, or for ``/_wait`` once there is something to say."""
        path, _, query = request.head.target.partition("?")
        word, _, name = path.removeprefix("/_").partition("/")
        ask = dict(parse_qsl(query))
        try:
            if word == "wait":
                self._wait(ask, reply)
                return
            value = self._value(f"{request.head.method} {word}", unquote(name), ask, request.body)
        except ValueError as error:
            reply(_json(400, {"error": str(error)}))
        except LookupError:
            reply(_json(404, {"error": f"no such control call: {request.head.method} {path}"}))
        else:
            reply(_json(200, value))

    def _value(self, call: str, name: str, ask: dict[str, str], body: bytes) -> object:
        desk = self._desk
        match call:
            case "GET ready":
                return {"ready": True}
            case "GET requests":
                return self._requests(ask)
            case "GET stats":
                return self._stats()
            case "GET verify":
                return desk.verifier.check(desk.ledger.records)
            case "PUT behaviour":
                return self._behave(name, body.decode().strip())
            case "PUT secret":
                desk.verifier.set(name, body.decode().split())
                return {"name": name}
            case "DELETE requests":
                desk.ledger.note({"control": "forget"})
                desk.forget()
                return {}
        raise LookupError(call)

    def _behave(self, name: str, text: str) -> object:
        if not name or "/" in name:
            raise BadCall("a name is one path segment")
        self._desk.routes.name(name, text)
        self._desk.ledger.note({"control": "behaviour", "name": name, "behaviour": text})
        self._desk.ledger.flush()
        return {"name": name, "behaviour": text}

    def _requests(self, ask: dict[str, str]) -> object:
        path, prefix, after = ask.get("path"), ask.get("prefix", ""), int(ask.get("after", "0"))

        def wanted(record: Record) -> bool:
            return record.number > after and path in (None, record.route.path) and record.route.path.startswith(prefix)

        chosen = [record for record in self._desk.ledger.records if wanted(record)]
        if ask.get("count"):
            return {"count": len(chosen)}
        chosen = chosen[: int(ask.get("limit", len(chosen)))]
        return [record.view(ask.get("bodies") != "0") for record in chosen]

    def _stats(self) -> object:
        desk = self._desk
        paths = {route.path: route.tally.figures() for route in desk.routes.paths()}
        answers: Counter[str] = Counter()
        for route in desk.routes.paths():
            answers.update(route.tally.answers)
        fields = ("requests", "distinct", "accepted", "repeats", "duplicates", "in_flight")
        totals = {name: sum(int(str(figures[name])) for figures in paths.values()) for name in fields}
        return {
            **totals,
            "answers": answers,
            "kept": len(desk.ledger.records),
            "broken": desk.ledger.broken,
            "behaviours": desk.routes.names(),
            "signatures": desk.verifier.figures(),
            "paths": paths,
        }

    def _wait(self, ask: dict[str, str], reply: Reply) -> None:
        counted = [name for name in COUNTED if name in ask]
        if len(counted) != 1:
            raise BadCall(f"wait for exactly one of: {', '.join(COUNTED)}")
        count, seconds = int(ask[counted[0]]), float(ask.get("timeout", DEFAULT_WAIT_SECONDS))

        def tell(reached: bool) -> None:
            reply(_json(200 if reached else 408, {"reached": reached, **ask}))

        self._desk.wait(Waiter(counted[0], count, ask.get("path"), tell), seconds)
