"""The lines of the log, each with its facts; docs/logging.md explains them. Said where the thing happens."""

import logging
from typing import Final

from journal import Line

_LOGGER: Final = "holdfast.inbox"
_EVENT: Final = "source event_id event_type received_id"

EVENT_RECEIVED: Final = Line(
    "inbox.event_received", _LOGGER, f"{_EVENT} body_bytes body_fingerprint is_repeat has_other_body fault"
)
REQUEST_REFUSED: Final = Line("inbox.request_refused", _LOGGER, "source status_code refusal reason key_fingerprints")
ATTEMPT_MADE: Final = Line(
    "inbox.attempt_made",
    _LOGGER,
    f"{_EVENT} attempt result handler failure_class reason retry_in_seconds duration_ms received_to_done_ms",
)
DEAD_LETTERED: Final = Line(
    "inbox.dead_lettered", _LOGGER, f"{_EVENT} dead_letter_id failure_class reason", level=logging.WARNING
)
LAPSED: Final = Line("inbox.lapsed", _LOGGER, "source event_id received_id attempt status", level=logging.WARNING)
REDRIVEN: Final = Line("inbox.redriven", _LOGGER, "received_id dead_letter_id operation_id")
DISCARDED: Final = Line("inbox.discarded", _LOGGER, "received_id dead_letter_id operation_id")
SECRET_ADDED: Final = Line("inbox.secret_added", _LOGGER, "source key_fingerprint actor older_secrets older_expire_at")
SECRET_REVOKED: Final = Line("inbox.secret_revoked", _LOGGER, "source key_fingerprint actor")
PRUNED: Final = Line("inbox.prune_batch_done", _LOGGER, "kind deleted has_more duration_ms")
