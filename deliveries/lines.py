"""The lines of the log, each with its facts; docs/logging.md explains them. Said where the thing happens."""

import logging
from typing import Final

from journal import Line

_DELIVERY = "delivery_id event_id event_type tenant endpoint_id"

ATTEMPT_MADE: Final = Line(
    "attempt.made",
    "holdfast.attempts",
    f"{_DELIVERY} host address attempt budget_attempt outcome status_code reason decision next_attempt_at retry_after "
    "started_at duration_ms event_to_ack_ms pace rate_limit drain claim trace_id span_id",
)

EVENT_PUBLISHED: Final = Line(
    "event.published", "holdfast.events", "event_id event_type tenant sequence deliveries trace_id"
)

DEAD_LETTERED: Final = Line(
    "delivery.dead_lettered",
    "holdfast.deliveries",
    f"{_DELIVERY} dead_letter_id attempts failure_class reason",
    level=logging.WARNING,
)
LAPSED: Final = Line(
    "delivery.lapsed",
    "holdfast.deliveries",
    "delivery_id event_id endpoint_id attempt status next_attempt_at",
    level=logging.WARNING,
)
HANDED_BACK: Final = Line("delivery.handed_back", "holdfast.deliveries", "deliveries drain")
REDRIVEN: Final = Line(
    "delivery.redriven",
    "holdfast.deliveries",
    "delivery_id event_id endpoint_id dead_letter_id operation_id endpoint_state next_attempt_at",
)
REPLAYED: Final = Line(
    "delivery.replayed",
    "holdfast.deliveries",
    "delivery_id event_id endpoint_id operation_id endpoint_state next_attempt_at is_first",
)
WITHDRAWN: Final = Line(
    "delivery.withdrawn", "holdfast.deliveries", "delivery_id event_id endpoint_id operation_id back_to"
)

LETTER_DISCARDED: Final = Line(
    "dead_letter.discarded", "holdfast.dead_letters", "dead_letter_id delivery_id endpoint_id operation_id"
)
LETTER_ANNOUNCED: Final = Line(
    "dead_letter.announced",
    "holdfast.dead_letters",
    "dead_letter_id delivery_id endpoint_id host event_type failure_class reason",
    level=logging.ERROR,
)

OPERATION_BEGUN: Final = Line(
    "operation.begun", "holdfast.operations", "operation_id kind actor selection rate_per_second"
)
OPERATION_FINISHED: Final = Line("operation.finished", "holdfast.operations", "operation_id kind moved refused held")
OPERATION_STOPPED: Final = Line("operation.stopped", "holdfast.operations", "operation_id kind actor withdrawn")

HEALTH_CHANGED: Final = Line("endpoint.health_changed", "holdfast.endpoints", "endpoint_id from_level to_level")

CIRCUIT_OPENED: Final = Line(
    "circuit.opened",
    "holdfast.circuits",
    "endpoint_id from_state failures times_opened probe_in_seconds",
    level=logging.WARNING,
)
CIRCUIT_HALF_OPENED: Final = Line("circuit.half_opened", "holdfast.circuits", "endpoint_id drain")
CIRCUIT_CLOSED: Final = Line("circuit.closed", "holdfast.circuits", "endpoint_id from_state why")

NOTICE_WRITTEN: Final = Line("notice.written", "holdfast.notices", "notice_id kind subject endpoint_id title")
NOTICE_TOLD: Final = Line("notice.told", "holdfast.notices", "notice_id kind endpoint_id title", level=logging.WARNING)

PRUNED: Final = Line("prune.batch_done", "holdfast.upkeep", "kind deleted has_more duration_ms")
