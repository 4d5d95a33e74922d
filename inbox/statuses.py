"""The states of a received event, each with its sentence, and the moves between them. Pure.

            arrive                   claim
(nothing) ──────────▶ received ────────────────▶ processing
    │                 ▲     ▲                      │  │  │
    │ arrive (poison) │     └── retry, lapse ──────┘  │  │ processed, stale, ignored
    │                 │ redrive                       │  ▼
    └───────────────▶ dead ◀──────── give up, lapse ──┘  (final)
"""

from enum import StrEnum


class Status(StrEnum):
    """Where a received event stands. Stored in `ReceivedEvent.status`, written only by `inbox.transitions`."""

    RECEIVED = "received"
    PROCESSING = "processing"
    PROCESSED = "processed"
    STALE = "stale"
    IGNORED = "ignored"
    DEAD = "dead"


SENTENCES: dict[Status, str] = {
    Status.RECEIVED: "Waits for its handler; the door, a retry or a redrive put it here, a claim takes it out.",
    Status.PROCESSING: "A worker holds a lease on it; ends by the recorded result or the lease's lapse.",
    Status.PROCESSED: "Its handler is through, and what it wrote was committed with this state. Final.",
    Status.STALE: "Something newer about the same object was applied before it, so it changed nothing. Final.",
    Status.IGNORED: "No handler wants it, and its source says that such events are to be ignored. Final.",
    Status.DEAD: "Given up; its dead letter says why. Final, unless an operator redrives it.",
}

FINAL = frozenset({Status.PROCESSED, Status.STALE, Status.IGNORED, Status.DEAD})


class Result(StrEnum):
    """What a handler may return to say how its event ended; without a word it is processed."""

    PROCESSED = Status.PROCESSED.value
    STALE = Status.STALE.value
    IGNORED = Status.IGNORED.value
