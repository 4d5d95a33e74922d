"""The table of a bench: rates, and where the CPU time went, which explains the ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median

from bench.cpu import CpuSeconds

PARTIES = tuple(field.name for field in fields(CpuSeconds))


@dataclass(frozen=True, slots=True)
class Reading:
    """What one leg took, once."""

    deliveries: int
    seconds: float
    cpu: CpuSeconds

    @property
    def per_second(self) -> float:
        """Deliveries a second."""
        return self.deliveries / self.seconds

    def cpu_microseconds(self, party: str) -> float:
        """CPU time that one delivery cost a party."""
        return float(getattr(self.cpu, party)) / self.deliveries * 1e6


def figures(readings: Mapping[str, Sequence[Reading]]) -> dict[str, float]:
    """The median rates, and Holdfast's as a multiple of the two others'."""
    rates = {name: median(reading.per_second for reading in column) for name, column in readings.items()}
    return {
        **{f"{name}_per_s": round(rate, 1) for name, rate in rates.items()},
        "vs_naive": round(rates["holdfast"] / rates["naive"], 3),
        "vs_bare": round(rates["holdfast"] / rates["bare"], 3),
    }


def table(readings: Mapping[str, Sequence[Reading]]) -> str:
    """One line a shape: the median rate, its spread over the rounds, and the median CPU time of each party."""
    heading = f"{'':9}{'per second':>11}{'lowest':>9}{'highest':>9}   CPU µs a delivery:"
    lines = [heading + "".join(f"{party:>11}" for party in PARTIES)]
    for name, column in readings.items():
        rates = [reading.per_second for reading in column]
        cpu = [median(reading.cpu_microseconds(party) for reading in column) for party in PARTIES]
        line = f"{name:9}{median(rates):>11,.0f}{min(rates):>9,.0f}{max(rates):>9,.0f}{'':22}"
        lines.append(line + "".join(f"{microseconds:>11,.0f}" for microseconds in cpu))
    return "\n".join([*lines, ""])
