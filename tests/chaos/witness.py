"""What the receiver saw, read from its log: every request is in there before it is answered, and outlives all kills."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Pair = tuple[int, str]
"""Endpoint id and event id: one delivery."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One request. `status` is what was answered, None for a reset; times are seconds, `monotonic` machine-wide."""

    pair: Pair
    status: int | None
    sha256: str
    monotonic: float
    wall: float
    timestamp: str

    @property
    def accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class Witness:
    """Reads on in the log at each call of `read`."""

    def __init__(self, log: Path, endpoints: dict[str, int]) -> None:
        self.sightings: list[Sighting] = []
        self.latest: dict[Pair, float] = {}
        self.strangers: list[str] = []
        self._log = log
        self._endpoints = endpoints
        self._position = 0

    def read(self) -> None:
        """Take in whatever was written since the last call; a line that is not whole yet is left for the next."""
        with self._log.open("rb") as log:
            log.seek(self._position)
            data = log.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))

    def first_accepted_after(self, moment: float) -> dict[int, float]:
        """By endpoint, the seconds from `moment` (monotonic) to the first request after it that was accepted."""
        found: dict[int, float] = {}
        for sighting in reversed(self.sightings):
            if sighting.monotonic <= moment:
                break
            if sighting.accepted:
                found[sighting.pair[0]] = sighting.monotonic - moment
        return found

    def _take(self, line: dict[str, Any]) -> None:
        if "n" not in line:
            return
        endpoint = self._endpoints.get(line["target"])
        if endpoint is None:
            self.strangers.append(line["target"])
            return
        pair = (endpoint, line["webhook-id"])
        self.latest[pair] = line["wall"]
        self.sightings.append(
            Sighting(pair, line["status"], line["sha256"], line["monotonic"], line["wall"], line["webhook-timestamp"])
        )
