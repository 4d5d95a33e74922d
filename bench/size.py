"""How much a bench does, and what the environment may change about it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from bench.errors import BenchFailed


class UnusableSize(BenchFailed, ValueError):
    """A variable holds what makes no sense; the message names it."""


@dataclass(frozen=True, slots=True)
class Size:
    """Set by `BENCH_DELIVERIES`, `BENCH_ENDPOINTS`, `BENCH_PROCESSES` and `BENCH_ROUNDS`; smaller is noisier."""

    deliveries: int = 12_800
    endpoints: int = 16
    processes: int = 2
    rounds: int = 2

    @property
    def events(self) -> int:
        """Events to publish: each becomes one delivery for every endpoint."""
        return self.deliveries // self.endpoints


def size_from(environment: Mapping[str, str]) -> Size:
    """Read the size; what is not set keeps its default. Raises UnusableSize."""
    given = {}
    for field in fields(Size):
        variable = f"BENCH_{field.name.upper()}"
        text = environment.get(variable) or str(field.default)
        if not text.isdecimal() or int(text) < 1:
            raise UnusableSize(f"{variable} is {text!r}: it must be a whole number above 0.")
        given[field.name] = int(text)
    size = Size(**given)
    if size.deliveries % size.endpoints:
        raise UnusableSize(
            "BENCH_DELIVERIES must be a multiple of BENCH_ENDPOINTS: every event goes to every endpoint."
        )
    return size
