"""Running counts of what one path got and answered, so that reading them costs nothing (pure)."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """Counts of one path.

    ``repeats`` are requests whose webhook-id came before; ``duplicates`` those that came after a 2xx for that id was
    sent: only these show an event delivered twice.
    """

    requests: int = 0
    repeats: int = 0
    duplicates: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    accepted: set[str] = field(default_factory=set)

    def arrive(self, webhook_id: str, label: str) -> None:
        """Count a request and what it will be answered."""
        self.requests += 1
        self.answers[label] = self.answers.get(label, 0) + 1
        self.in_flight += 1
        if self.in_flight > self.peak_in_flight:
            self.peak_in_flight = self.in_flight
        if not webhook_id:
            return
        if webhook_id in self.seen:
            self.repeats += 1
            self.duplicates += webhook_id in self.accepted
        else:
            self.seen.add(webhook_id)

    def accept(self, webhook_id: str) -> None:
        """A 2xx went out: from here on the same webhook-id is a duplicate."""
        if webhook_id:
            self.accepted.add(webhook_id)

    def leave(self) -> None:
        """Count the end of a request: answered, or given up by either side."""
        self.in_flight -= 1

    def figures(self) -> dict[str, object]:
        """The counts as JSON-ready figures."""
        return {
            "requests": self.requests,
            "distinct": len(self.seen),
            "accepted": len(self.accepted),
            "repeats": self.repeats,
            "duplicates": self.duplicates,
            "in_flight": self.in_flight,
            "peak_in_flight": self.peak_in_flight,
            "answers": dict(self.answers),
        }
