"""The states of a delivery, each with its sentence, and the moves between them. Pure.

            publish                     claim
(nothing) ──────────▶ pending ────────────────────▶ sending
                      ▲ ▲  │                         │ │ │
               redrive│ │  │ expire        delivered │ │ │ gave up
                replay│ │  ▼                         ▼ │ ▼
                      │ └─────── retry, hand back, ────┘ dead
                      │          lapse
                      └────────── delivered, dead
"""

from enum import StrEnum


class Status(StrEnum):
    """Where a delivery stands. Stored in `Delivery.status`, written only by `deliveries.transitions`."""

    PENDING = "pending"
    SENDING = "sending"
    DELIVERED = "delivered"
    DEAD = "dead"


SENTENCES: dict[Status, str] = {
    Status.PENDING: "Waits for its next attempt; publishing, a retry or a redrive put it here, a claim takes it out.",
    Status.SENDING: "A worker holds a lease on it; ends by the recorded result, a hand-back, or the lease's lapse.",
    Status.DELIVERED: "The endpoint answered 2xx. Final, unless an operator replays it.",
    Status.DEAD: "Given up; its dead letter says why. Final, unless an operator redrives it.",
}


class Move(StrEnum):
    """What carries a delivery from one state to another."""

    CLAIM = "claim"
    DELIVER = "deliver"
    RETRY = "retry"
    GIVE_UP = "give up"
    HAND_BACK = "hand back"
    LAPSE = "lapse"
    EXPIRE = "expire"
    REDRIVE = "redrive"
    REPLAY = "replay"
    WITHDRAW = "withdraw"


LEGAL_MOVES: dict[Move, tuple[frozenset[Status], frozenset[Status]]] = {
    Move.CLAIM: (frozenset({Status.PENDING}), frozenset({Status.SENDING})),
    Move.DELIVER: (frozenset({Status.SENDING}), frozenset({Status.DELIVERED})),
    Move.RETRY: (frozenset({Status.SENDING}), frozenset({Status.PENDING})),
    Move.GIVE_UP: (frozenset({Status.SENDING}), frozenset({Status.DEAD})),
    Move.HAND_BACK: (frozenset({Status.SENDING}), frozenset({Status.PENDING})),
    Move.LAPSE: (frozenset({Status.SENDING}), frozenset({Status.PENDING, Status.DEAD})),
    Move.EXPIRE: (frozenset({Status.PENDING}), frozenset({Status.DEAD})),
    Move.REDRIVE: (frozenset({Status.DEAD}), frozenset({Status.PENDING})),
    Move.REPLAY: (frozenset({Status.DELIVERED}), frozenset({Status.PENDING})),
    Move.WITHDRAW: (frozenset({Status.PENDING}), frozenset({Status.DEAD, Status.DELIVERED})),
}

FINAL = frozenset({Status.DELIVERED, Status.DEAD})
