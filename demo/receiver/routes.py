"""Which behaviour and which counts belong to a target (rows of memory, no I/O)."""

from dataclasses import dataclass, field

from demo.receiver.answers import Plan, answer
from demo.receiver.behaviours import Behaviour, UnknownBehaviour, behaviour_from
from demo.receiver.tallies import Tally

NAMED_PREFIX = "/named/"


@dataclass(slots=True)
class Route:
    """One path: its behaviour and its counts."""

    path: str
    behaviour: Behaviour
    tally: Tally = field(default_factory=Tally)


def _unknown(error: UnknownBehaviour) -> Behaviour:
    plan = answer(404, str(error).encode())
    return lambda webhook_id: plan


class RouteTable:
    """Finds the route of a request target, making it on first sight; holds the named behaviours."""

    def __init__(self) -> None:
        self._by_target: dict[str, Route] = {}
        self._by_path: dict[str, Route] = {}
        self._named: dict[str, tuple[str, Behaviour]] = {}

    def of(self, target: str) -> Route:
        """The route of a target; one path is one route, whatever its query."""
        route = self._by_target.get(target)
        if route is None:
            path = target.partition("?")[0]
            route = self._by_target[target] = self._by_path.setdefault(path, Route(path, self._behaviour_of(path)))
        return route

    def name(self, name: str, text: str) -> None:
        """Let ``/named/<name>`` behave as the text says from now on; raises UnknownBehaviour."""
        self._named[name] = (text, behaviour_from(text))

    def names(self) -> dict[str, str]:
        """The named behaviours as they stand."""
        return {name: text for name, (text, _) in self._named.items()}

    def paths(self) -> list[Route]:
        """Every route that was asked for."""
        return list(self._by_path.values())

    def forget(self) -> None:
        """Drop all counts and all memory of attempts; the names keep their behaviours."""
        self._by_target.clear()
        self._by_path.clear()
        for name, (text, _) in list(self._named.items()):
            self.name(name, text)

    def _behaviour_of(self, path: str) -> Behaviour:
        if path.startswith(NAMED_PREFIX):
            name = path.removeprefix(NAMED_PREFIX).partition("/")[0]
            return lambda webhook_id: self._follow(name, webhook_id)
        try:
            return behaviour_from(path)
        except UnknownBehaviour as error:
            return _unknown(error)

    def _follow(self, name: str, webhook_id: str) -> Plan:
        if name not in self._named:
            return answer(404, f"no behaviour was put under the name {name!r}".encode())
        return self._named[name][1](webhook_id)
