"""One request as it was received, and how it reads in the log and over the control API (pure)."""

import base64
import hashlib
from dataclasses import dataclass

from demo.receiver.answers import Plan
from demo.receiver.parsing import Head
from demo.receiver.routes import Route


@dataclass(slots=True)
class Record:
    """One whole request, with the plan made for it.

    ``arrived_monotonic`` and ``answered_monotonic`` are seconds of CLOCK_MONOTONIC, comparable between processes of one
    machine; ``arrived_wall`` is seconds since 1970. ``left`` is true when the peer closed before it was answered.
    """

    number: int
    connection: int
    arrived_monotonic: float
    arrived_wall: float
    head: Head
    body: bytes
    route: Route
    webhook_id: str
    plan: Plan
    answered_monotonic: float | None = None
    left: bool = False

    def line(self, with_body: bool) -> dict[str, object]:
        """What is known on arrival: the log line."""
        headers = self.head.headers
        line: dict[str, object] = {
            "n": self.number,
            "connection": self.connection,
            "monotonic": self.arrived_monotonic,
            "wall": self.arrived_wall,
            "method": self.head.method,
            "target": self.head.target,
            "webhook-id": self.webhook_id,
            "webhook-timestamp": headers.get("webhook-timestamp", ""),
            "webhook-signature": headers.get("webhook-signature", ""),
            "sha256": hashlib.sha256(self.body).hexdigest(),
            "answer": self.plan.label,
            "status": self.plan.status,
        }
        if with_body:
            line.update(self.readable_body())
        return line

    def view(self, with_body: bool) -> dict[str, object]:
        """Everything known by now: for the control API."""
        return {
            **self.line(with_body),
            "path": self.route.path,
            "headers": self.head.headers,
            "answered_monotonic": self.answered_monotonic,
            "left": self.left,
        }

    def readable_body(self) -> dict[str, object]:
        """The body as text when it is UTF-8, else in base64 under another key."""
        try:
            return {"body": self.body.decode()}
        except UnicodeDecodeError:
            return {"body_base64": base64.b64encode(self.body).decode()}
